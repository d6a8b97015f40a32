import t from 'tap'
import { processEnvironment } from '#relay/config/target.js'

const ours =
  { PATH: '/bin', HOME: '/root', LANG: 'C', CLIENT_TOKEN: 's3cret', TICKETS_TOKEN: 's3cret', GONE: undefined }
const env = new Map([['TOKEN', 'own'], ['HOME', '/srv']])

t.test('a server inherits our whole environment by default', t => {
  t.strictSame(processEnvironment({ env, inheritEnv: undefined }, ours, false), {
    PATH: '/bin', HOME: '/srv', LANG: 'C', CLIENT_TOKEN: 's3cret', TICKETS_TOKEN: 's3cret', TOKEN: 'own',
  })
  t.strictSame(processEnvironment({ env, inheritEnv: true }, ours, false), processEnvironment(
    { env, inheritEnv: undefined }, ours, false,
  ))
  t.end()
})

t.test('inheritEnv limits it to the usual variables, its own and the named ones', t => {
  t.strictSame(
    processEnvironment({ env, inheritEnv: [] }, ours, false), { PATH: '/bin', HOME: '/srv', TOKEN: 'own' },
  )
  t.strictSame(processEnvironment({ env, inheritEnv: ['LANG', 'NOT_SET'] }, ours, false), {
    PATH: '/bin', HOME: '/srv', LANG: 'C', TOKEN: 'own',
  })
  t.end()
})

t.test('on Windows names ignore case, and the last one wins', t => {
  const given = { env: new Map([['PATH', 'D:\\own']]), inheritEnv: ['lang'] }
  t.strictSame(processEnvironment(
    given, { Path: 'C:\\bin', SystemRoot: 'C:\\Windows', Lang: 'C', Token: 's3cret' }, true,
  ), {
    PATH: 'D:\\own', SystemRoot: 'C:\\Windows', Lang: 'C',
  })
  t.end()
})
