// Talks through a gateway with a major of the TypeScript SDK, as applications do that know
// nothing of memory, and prints what it got, as JSON: plainly, streaming, and with the
// SDK's tool runner in both ways.
//
//   node gateway.mjs sdk-1 BASE_URL API_KEY
const [, , sdk, baseURL, apiKey] = process.argv;
const { default: Anthropic } = await import(sdk);
const { betaTool } = await import(`${sdk}/helpers/beta/json-schema`);

// Counts the requests with a message thread that were refused, and those that were not.
const threads = { refused: 0, accepted: 0 };
async function counting(url, init) {
  const response = await fetch(url, init);
  if (JSON.parse(init.body).thread) threads[response.status === 400 ? 'refused' : 'accepted']++;
  return response;
}

const client = new Anthropic({ baseURL, apiKey, maxRetries: 0, logLevel: 'off', fetch: counting });
const inputSchema = { type: 'object', properties: { city: { type: 'string' } } };
const question = { role: 'user', content: 'Plan' };
const common = (user) => ({ model: 'claude-opus-4-6', max_tokens: 1000, metadata: { user_id: user } });
const weather = ({ city }) => `sunny in ${city}`;

// Answers the calls of the application's own tool until the turn has ended.
async function converse(user, streaming) {
  const messages = [question];
  const answers = [];
  for (;;) {
    const params = { ...common(user), messages, tools: [{ name: 'weather', input_schema: inputSchema }] };
    const message = streaming
      ? await client.messages.stream(params).finalMessage()
      : await client.messages.create(params);
    answers.push({
      content: message.content.map(({ type, text, id, name, input }) => ({ type, text, id, name, input })),
      stop: message.stop_reason, input: message.usage.input_tokens, output: message.usage.output_tokens,
    });
    messages.push({ role: 'assistant', content: message.content });
    if (message.stop_reason !== 'tool_use') return answers;
    const calls = message.content.filter((block) => block.type === 'tool_use');
    messages.push({
      role: 'user',
      content: calls.map(({ id, input }) => ({ type: 'tool_result', tool_use_id: id, content: weather(input) })),
    });
  }
}

async function runner(user, stream) {
  const tool = betaTool({ name: 'weather', description: 'Weather of a city', inputSchema, run: weather });
  const message = await client.beta.messages
    .toolRunner({ ...common(user), messages: [question], tools: [tool], stream })
    .runUntilDone();
  return message.content.map((block) => block.text).join(' ');
}

const answers = {
  plain: await converse('plain', false),
  streamed: await converse('streamed', true),
  runner: await runner('runner', false),
  streamedRunner: await runner('streamed-runner', true),
};
console.log(JSON.stringify({ ...answers, threads }));
