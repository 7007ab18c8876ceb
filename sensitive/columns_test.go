package sensitive_test

import (
	"fmt"
	"strings"
	"testing"

	"memento/sensitive"
)

// The values below the name of a column are found.
func TestColumns(t *testing.T) {
	d := sensitive.Default()
	for _, c := range []struct{ text, secrets string }{
		{"user,password\nkim,s0lar-w1nd!Q7\nlee,\"br4ve,Gl4ss\"\n", "s0lar-w1nd!Q7 br4ve,Gl4ss"},
		{"user,password,host\r\nkim,s0lar-w1nd!Q7,db1\r\nlee,br4veGl4ss,db2\r\n", "s0lar-w1nd!Q7 br4veGl4ss"},
		{"name\tpassword\turl\nshop\ts0lar-w1nd!Q7\thttps://acme.io\n", "s0lar-w1nd!Q7"},
		{"Benutzer;Passwort;Seit\nkim;s0larW1nd7;2024\n", "s0larW1nd7"},
		{"姓名,密码\n金,s0larW1nd7\n", "s0larW1nd7"},
		{"The export:\n\n```csv\nid,login_uri,login_username,login_password\n1,https://acme.io,kim,s0lar-w1nd!Q7\n```\n", "s0lar-w1nd!Q7"},
		{"door,pin\nfront,4471\nback,9920\n", "4471 9920"},
		{"old_password,password\ns0larW1nd7,br4veGl4ss\n", "s0larW1nd7 br4veGl4ss"},
		{"service,api_key\nweather,q7Xw2Lk9Rt4Vb8Nm3Zc6\n", "q7Xw2Lk9Rt4Vb8Nm3Zc6"},
		{"name,token,owner\nci,Zk3Nq8Wv1Lx6Tb9Rm4Yp,kim\n", "Zk3Nq8Wv1Lx6Tb9Rm4Yp"},
		{"NAME        PASSWORD        AGE\ndb-main     s0lar-w1nd!Q7   3d\ndb-replica  br4veGl4ss      12h\n", "s0lar-w1nd!Q7 br4veGl4ss"},
		{"Accounts:\n\n    Name   Password\n    ----   --------\n    kim    s0lar-w1nd!Q7\n    lee    br4veGl4ss\n", "s0lar-w1nd!Q7 br4veGl4ss"},
		{"PASSWORD       USER\ns0larW1nd7     kim\n", "s0larW1nd7"},
		{"TOKEN                     TTL   USAGES\n9vzm3k.q7Xw2Lk9Rt4Vb8Nm   23h   authentication\n", "9vzm3k.q7Xw2Lk9Rt4Vb8Nm"},
		{"      user         password   age\n       kim    s0lar-w1nd!Q7    3d\n     admin       br4veGl4ss   12h\n", "s0lar-w1nd!Q7 br4veGl4ss"},
		{"     PIN  door\n    4471  front\n  992041  back\n", "4471 992041"},
		{"用户      密码            城市\n金小姐    s0lar-w1nd!Q7   上海\nlee       br4veGl4ss      柏林\n", "s0lar-w1nd!Q7 br4veGl4ss"},
		{"名前        パスワード      備考\n鈴木一郎    s0larW1nd7      なし\n", "s0larW1nd7"},
		{"  이름       비밀번호   나이\n  김철수   s0larW1nd7     31\n", "s0larW1nd7"},
		{" id | username | password\n----+----------+---------------\n  1 | kim      | s0lar-w1nd!Q7\n  2 | lee      | br4veGl4ss\n(2 rows)\n", "s0lar-w1nd!Q7 br4veGl4ss"},
		{" password      | username\n---------------+----------\n s0lar-w1nd!Q7 | kim\n", "s0lar-w1nd!Q7"},
		{"+------+---------------+\n| user | password      |\n+------+---------------+\n| kim  | s0lar-w1nd!Q7 |\n+------+---------------+\n", "s0lar-w1nd!Q7"},
	} {
		masked := mask(c.text, d.Detect(c.text, false))
		for _, s := range strings.Fields(c.secrets) {
			if strings.Contains(masked, s) {
				t.Errorf("%q is left in %q", s, masked)
			}
		}
		checkPromises(t, d, c.text, false)
	}
	var long strings.Builder
	long.WriteString("user,password\n")
	for i := range 300 {
		fmt.Fprintf(&long, "user%d,s0larW1nd%d\n", i, i)
	}
	if got := len(d.Detect(long.String(), false)); got != 300 {
		t.Errorf("%d findings in 300 rows", got)
	}
}

// What is no column of secrets is left alone.
func TestNoColumns(t *testing.T) {
	d := sensitive.Default()
	for _, text := range []string{
		"field,password,required\ntype,string,true\n",
		"user,password\nkim,\nlee,changeme\n",
		"We need user, password, and host.\nAsk kim2024, lee2025, or sam2026.\n",
		"name,token_count\nprompt,18224455\n",
		"file,api_key,sha\na.go,none,3f786850e387550fdab836ed7e6dc881de23001b\n",
		"user,password_reset_at\nkim,2026-03-01T10:00:00Z\n",
		"setting,secret\nversion,v1.22.3-rc1\n",
		"NAME             SECRET            AGE\ndb-credentials   db-credentials-2  3d\n",
		"FIELD      PASSWORD\nrequired   true\nlength     12-64\n",
		"USER   PASSWORD   CHANGED\nkim    expires    2026-11-03\nlee    locked     2025-01-02\n",
		"PIN   MODE    VALUE\n12    output  high\n13    input   low\n",
		"  Count  Password rules  Since\n     12  min-length-8x   2026\n",
		"      field    password\n  minlength          12\n  maxlength         128\n",
		"NAME     Combination   n\nA               1204   5\n",
		"Enter the  password  here\nand press   Enter2     twice.\n",
		"NAME                  TYPE                                  DATA   AGE\ndefault-token-x7k2p   kubernetes.io/service-account-token   3      41d\n",
		"type login struct {\n\tpassword       string\n\tnumKbdIntCbs   int\n}\n",
		"create table t (\n  password     text\n  numKbdIntCbs int\n)\n",
		"the numbers:\n\nuserCount      int\npassword       string\nnumKbdIntCbs   int\n",
		"key             token\nlast-modified   2026-11-03T10:00:00Z\n",
	} {
		if found := d.Detect(text, false); len(found) > 0 {
			t.Errorf("found %q in %q", text[found[0].Start:found[0].End], text)
		}
	}
}
