import type { Data } from '#relay/protocol/unmetered.js'

// Forms in which secrets were seen: § is the secret, ⏎ a line end, and ¦ stands between two forms.

const forms = (text: string): readonly string[] =>
  text.split(/\s*[¦\n]\s*/).filter(one => one !== '').map(one => one.replaceAll('⏎', '\n'))

const texts = forms(`
  password: § ¦ PASSWORD=§ ¦ password := "§" ¦ password => '§' ¦ password -> § ¦ password == "§" && user ¦ PASSWORD ?= §
  export DB_PASSWORD="two words §" && run ¦ export DB_PASSWORD="a \\" quote §" ¦ password: two words §⏎user: bob
  { password: '§', user: 'bob' } ¦ {"password":"§","user":"bob"} ¦ {"pass\\u0077ord":"§"} ¦ body="{\\"password\\":\\"§\\"}"
  tool --api-key § --verbose ¦ tool --api-key=§ ¦ curl -u admin:§ https://a.example ¦ curl --user "admin:§" x
  sshpass -p § ssh a ¦ mysql -u root -p§ shop ¦ redis-cli -a § GET b ¦ docker login -u bob -p § a ¦ psql "dbname=a password=§"
  the password § is new ¦ my password is §, keep it ¦ my password is: § ¦ Your new password is "§", bob ¦ The API key: §
  password for bob: § ¦ password of bob is § ¦ Password – § ¦ Password › § ¦ **Password**: § ¦ _pw_ § ¦ use § to log in ¦ (§)
  | user | password |⏎|---|---|⏎| bob | § | ¦ | Password | § | ¦ user,password⏎bob,§ ¦ user,password⏎"a,b","§"
  user;password⏎bob;§ ¦ user\tpassword⏎bob\t§ ¦  user | password⏎------+------⏎ bob | § ¦ USER    PASSWORD⏎bob     §
  -[ RECORD 1 ]⏎password | § ¦ INSERT INTO users (name, password) VALUES ('bob', '§') ¦ CREATE USER bob IDENTIFIED BY '§'
  ALTER ROLE bob PASSWORD '§' ¦ UPDATE users SET pw = '§' WHERE id = 1 ¦ GRANT ALL TO bob WITH PASSWORD § ¦ SET x = N'§'
  <password>§</password> ¦ <td>Password</td><td>§</td> ¦ <dt>Password</dt><dd>§</dd> ¦ <entry key="db.password">§</entry>
  <input name="password" value="§"> ¦ <input value='§' type=password> ¦ <string name='api_key'>§</string> ¦ <!-- pw § -->
  <key>Password</key><string>§</string> ¦ <setting name="password"><value>§</value></setting> ¦ <a:S><![CDATA[§]]></a:S>
  env:⏎  - name: DB_PASSWORD⏎    value: § ¦ password: |⏎  §⏎user: bob ¦ password: >-⏎⏎    § ¦ password: !vault |⏎    §
  - password: a⏎    § ¦ [database]⏎pass = § ¦ password=a\\⏎  § ¦ name="password"⏎⏎§⏎--b ¦ machine a login bob password §
  localhost:5432:shop:bob:§ ¦ bob:§@a.example ¦ bob:$apr1$abc$§:1 ¦ bob:$6$abc$§ ¦ ssid=home⏎psk=§ ¦ WIFI:S:home;T:WPA;P:§;;
  Cookie: theme=dark; sid=§ ¦ Set-Cookie: PHPSESSID=§ ¦ Cookie: a=1;⏎ b=§ ¦ Authorization: Bearer § ¦ authorization: Basic §
  Proxy-Authorization: Digest username="bob", response="§" ¦ X-Api-Key: § ¦ X-Vault-Token: § ¦ Ocp-Apim-Subscription-Key: §
  https://user:§@a.example/path ¦ postgres://admin:pa/ss#§@db/app ¦ redis://:12/§@db ¦ jdbc:oracle:thin:bob/§@db:1521
  jdbc:mysql://db/app?user=bob&password=§ ¦ Server=db;User Id=bob;Password=§; ¦ AccountName=a;AccountKey=§;EndpointSuffix=x
  https://a.example/?access_token=§&page=2 ¦ https://a.example/?sig=§ ¦ https://a.example/?key=§ ¦ ?code=§&state=1 ¦ ?k=§
  https://hooks.slack.com/services/T0/B0/§ ¦ https://discord.com/api/webhooks/1/§ ¦ https://api.telegram.org/bot1:AA§/x
  https://a.example/reset/§ ¦ https://a.example/join?invite=§ ¦ magnet:?xt=§ ¦ otpauth://totp/bob?secret=§&issuer=x
  sk-§ ¦ ghp_§ ¦ github_pat_§ ¦ glpat-§ ¦ xoxb-1-§ ¦ AIza§ ¦ AKIA§ ¦ hf_§ ¦ npm_§ ¦ key-§ ¦ §-us12 ¦ SG.§.§ ¦ whsec_§
  eyJhbGciOiJIUzI1NiJ9.eyJz§.§ ¦ MTk4NjIyNDgzNDcxOTI1MjQ4.Cl2FMQ.§ ¦ ssh-ed25519 § bob@a ¦ AGE-SECRET-KEY-1§ ¦ xprv9§
  -----BEGIN RSA PRIVATE KEY-----⏎§⏎-----END RSA PRIVATE KEY----- ¦ PuTTY-User-Key-File-3: x⏎Private-Lines: 1⏎§
  ---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----⏎§ ¦ -----begin private key-----⏎§ ¦ -----BEGIN PGP MESSAGE-----⏎§
  process.env.PASSWORD || '§' ¦ config["db"]['password'] = '§'; ¦ os.environ["DB_PASSWORD"] = "§" ¦ define('DB_PASSWORD', '§');
  setenv("DB_PASSWORD", "§", 1) ¦ ("password", "§") ¦ f(password=b'§') ¦ password = """⏎§⏎""" ¦ password = <<EOT⏎§⏎EOT
  login("bob", "§") ¦ $pw = '§'; ¦ :password => "§" ¦ let password = String::from("§"); ¦ var p = @"§"; ¦ val p = "§"
  auth.Login("bob", \`§\`) ¦ #define PASSWORD "§" ¦ PASSWORD: str = "§" ¦ const char *pw = "§"; ¦ (setq password "§")
  System.setProperty("p", "§") ¦ -Djavax.net.ssl.keyStorePassword=§ ¦ kubectl create secret generic a --from-literal=p=§
  aws configure set x § ¦ net use \\\\a /user:bob § ¦ ConvertTo-SecureString "§" ¦ echo § | sudo -S ls ¦ read -s p; §
  password%3D§ ¦ %22password%22%3A%22§%22 ¦ user%5Bpassword%5D=§ ¦ {&quot;password&quot;:&quot;§&quot;} ¦ password&#61;§
  seed: witch collapse practice feed shame open despair creek road again ice least § ¦ PIN § ¦ 2FA: § ¦ backup codes: §, x
  mot de passe : § ¦ Passwort: § ¦ Kennwort lautet § ¦ contraseña: § ¦ la clave es § ¦ senha: § ¦ palavra-passe § ¦ parola: §
  wachtwoord: § ¦ lösenord: § ¦ adgangskode: § ¦ salasana: § ¦ hasło: § ¦ heslo: § ¦ jelszó: § ¦ parolă: § ¦ şifre: §
  пароль: § ¦ ваш пароль § ¦ пароль — «§» ¦ гасло: § ¦ парола: § ¦ лозинка: § ¦ κωδικός: § ¦ סיסמה: § ¦ كلمة المرور: §
  گذرواژه: § ¦ पासवर्ड: § ¦ পাসওয়ার্ড § ¦ கடவுச்சொல்: § ¦ รหัสผ่าน: § ¦ mật khẩu: § ¦ kata sandi: § ¦ nenosiri: §
  密码：§ ¦ 密码是§。 ¦ パスワードは§です ¦ パスワード：§ ¦ 비밀번호: § ¦ 비밀번호는§입니다 ¦ 密碼§ ¦ ลับ§ ¦ ရှုပ်§ ¦ პაროლი: §
`)

export const s = 'zq7Hk2vN9xWp4LtR8sYb' // no part of it is in any other text

/** How a text may be hidden within another one. */
const encodings: readonly ((text: string) => string)[] = [
  text => JSON.stringify(JSON.stringify({ deep: text })),
  text => `data:text/plain;base64,${Buffer.from(text).toString('base64')}`,
  text => encodeURIComponent(text),
  text => text.replace(/[a-z]/g, letter => `${letter}\u200b`),
]

/** More than 300 texts that hold the secret. */
export const secretTexts: readonly string[] = texts.flatMap((text, index) => {
  const held = text.replaceAll('§', s)
  return index % 4 === 0 ? [held, ...encodings.map(encode => encode(held))] : [held]
})

/** Values that hold the secret. */
export const secretValues: readonly Data[] = [
  { password: s }, { api: { key: s, user: 'bob' } }, { session: { id: s } }, { key: 'DB_PASSWORD', val: s },
  ['--user', `admin:${s}`], { args: ['-u', `admin:${s}`] }, ['mysql', '-p', s], ['Authorization', `Custom ${s}`],
  { k: 'Authorization', v: s }, { Name: '/prod/x', Type: 'SecureString', Value: s },
  { columns: ['user', 'password'], rows: [['bob', s]] }, [['user', 'password'], ['bob', s]],
  { fields: [{ name: 'user' }, { name: 'api_key' }], records: [['bob', { deep: s }]] },
  { element: 'Password input field', text: s }, { op: 'replace', path: '/password', value: s },
  { ParameterKey: 'Password', ParameterValue: s }, { question: 'the password', response: s },
  { format: 'password', default: s }, { kty: 'oct', k: s }, { d: s, n: 1 }, { env: [`PASSWORD=${s}`] },
  { [s]: 1 }, { tokens: { [`ghp_${s}`]: 'bob' } }, { [`user:${s}`]: true }, { [`${s}@a.example`]: [] },
  { [`a b ${s}`]: { [s]: s } }, { codes: [s, s], more: { a: [[s]] } }, [[[s]]], s,
  JSON.parse(`{"__proto__":{"token":"${s}"}}`) as Data,
]

/** Whether a text holds a part of the secret, in the clear, in base64, or with its letters apart. */
export const leaks = (text: string): boolean => {
  const plain = text.replaceAll('\u200b', '')
  const parts = [s, Buffer.from(s).toString('base64'), Buffer.from(`x${s}`).toString('base64').slice(2)]
  return parts.some(part => [2, 8, 12].some(at => plain.includes(part.slice(at, at + 8))))
}
