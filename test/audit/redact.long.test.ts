import t from 'tap'
import { withoutSecrets } from '#audit/secrets.js'

t.test('no text takes long to search', t => {
  // What is quadratic takes minutes at this length, and the test's own limit ends it.
  const length = 400_000
  const pieces = [
    'eyJ', '-eyJ', 'eyJaaaaaaaa.', 'a=', 'a="', 'password="', 'password=\\"', 'password:', "token='",
    '--token ', '://', '://a:', 'bearer ', 'basic ',
    '-----BEGIN PRIVATE KEY-----', '-----BEGIN ', 'sk-', '\\', ' ', '=', '"', 'ghp_', 'SG.a', 'SG.aaaaaaaa.',
    'é\u200b', 'AKIA', 'basic aaaa', 'basic a', '://a:b', '://a:/', '?key=', 'password a', 'password 1 ',
    '1:', '1:AA', 'bot1:AA', 'hooks.slack.com/services/', 'key-', 'cookie: \n', '<', '<a ', '<password>',
    '<a name=', 'name:', 'name: password, ', 'password: |\n ', 'password=[', 'api key ', 'key %3D',
    'password is ', 'password: a\n', 'password: a\n ', 'a:password: a\n\n', 'password=<<A ', 'a|password\n',
    'password|a\nb|c\n', '|', ',', '\n', '\n ', 'password[', 'password]', 'password\\\n', 'password="""',
    '("a", "', '("password", "', 'name="a"\r\n', '---- BEGIN ', 'Private-Lines: 1\n', 'login -p ', 'login ',
    'identified by ', 'QUFB', '%70', '\\u{', '&#x', '$apr1$a', '<key>password</key>', '-u ',
    '-u a:', 'auth=digest ', '@', '://a@', '<a><![CDATA[',
  ]
  for (const piece of pieces) {
    t.type(withoutSecrets(piece.repeat(length / piece.length)), 'string')
  }
  t.end()
})
