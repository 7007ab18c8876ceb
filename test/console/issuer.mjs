// A small OpenID Connect issuer, which asks who one is, and signs in whoever it is told.
import { createHash, generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { createServer } from "node:http";

const base64 = (text) => Buffer.from(text).toString("base64url");

export class Issuer {
  static async start(claims) {
    const s = new Issuer();
    s.claims = claims;
    s.codes = new Map();
    s.keys = generateKeyPairSync("rsa", { modulusLength: 2048 });
    s.server = createServer((request, answer) => s.answer(request, answer).catch((cause) => answer.writeHead(500).end(String(cause))));
    await new Promise((done) => s.server.listen(0, "127.0.0.1", done));
    s.url = `http://127.0.0.1:${s.server.address().port}`;
    return s;
  }

  token(more) {
    const now = Math.floor(Date.now() / 1000);
    const text = [{ alg: "RS256", kid: "one", typ: "JWT" }, { iss: this.url, sub: "ann@example.com", iat: now, exp: now + 3600, ...this.claims, ...more }].map((part) => base64(JSON.stringify(part))).join(".");
    return `${text}.${sign("sha256", Buffer.from(text), this.keys.privateKey).toString("base64url")}`;
  }

  async answer(request, answer) {
    const { pathname, searchParams } = new URL(request.url, this.url);
    const json = (value, status = 200) => answer.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    switch (`${request.method} ${pathname}`) {
      case "GET /.well-known/openid-configuration":
        return json({ issuer: this.url, authorization_endpoint: this.url + "/authorize", token_endpoint: this.url + "/token", jwks_uri: this.url + "/keys", id_token_signing_alg_values_supported: ["RS256"] });
      case "GET /keys":
        return json({ keys: [{ ...this.keys.publicKey.export({ format: "jwk" }), kid: "one", use: "sig", alg: "RS256" }] });
      case "GET /authorize": {
        const code = randomBytes(16).toString("hex");
        this.codes.set(code, searchParams);
        const to = `${searchParams.get("redirect_uri")}?${new URLSearchParams({ code, state: searchParams.get("state") })}`;
        return answer.writeHead(200, { "content-type": "text/html" }).end(`<h1>Who are you?</h1><a href="${to.replaceAll("&", "&amp;")}">I am Ann</a>`);
      }
      case "POST /token": {
        let body = "";
        for await (const part of request) body += part;
        const form = new URLSearchParams(body);
        const asked = this.codes.get(form.get("code"));
        this.codes.delete(form.get("code"));
        const proof = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
        if (!asked || asked.get("code_challenge") !== proof || asked.get("redirect_uri") !== form.get("redirect_uri")) return json({ error: "invalid_grant" }, 400);
        return json({ access_token: "unused", token_type: "Bearer", id_token: this.token({ aud: asked.get("client_id"), nonce: asked.get("nonce") }) });
      }
    }
    answer.writeHead(404).end();
  }

  stop = () => new Promise((done) => { this.server.closeAllConnections(); this.server.close(done); });
}
