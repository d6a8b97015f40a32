import t from 'tap'
import { processEnvironment } from '../../dist/commands/server/upstream.js'

const ours = { PATH: '/bin', HOME: '/root', LANG: 'C', CLIENT_TOKEN: 's3cret', TICKETS_TOKEN: 's3cret', GONE: undefined }
const env = new Map([['TOKEN', 'own'], ['HOME', '/srv']])

t.test('a server gets all of our environment, unless the file says otherwise', t => {
  t.strictSame(processEnvironment({ env, inheritEnv: undefined }, ours, false), {
    PATH: '/bin', HOME: '/srv', LANG: 'C', CLIENT_TOKEN: 's3cret', TICKETS_TOKEN: 's3cret', TOKEN: 'own',
  })
  t.strictSame(processEnvironment({ env, inheritEnv: true }, ours, false), processEnvironment({ env, inheritEnv: undefined }, ours, false))
  t.end()
})

t.test('or PATH, HOME and the like, its own, and what is named', t => {
  t.strictSame(processEnvironment({ env, inheritEnv: [] }, ours, false), { PATH: '/bin', HOME: '/srv', TOKEN: 'own' })
  t.strictSame(processEnvironment({ env, inheritEnv: ['LANG', 'NOT_SET'] }, ours, false), { PATH: '/bin', HOME: '/srv', LANG: 'C', TOKEN: 'own' })
  t.end()
})

t.test('on Windows a name is the same in any case: the last one stands alone', t => {
  const given = { env: new Map([['PATH', 'D:\\own']]), inheritEnv: ['lang'] }
  t.strictSame(processEnvironment(given, { Path: 'C:\\bin', SystemRoot: 'C:\\Windows', Lang: 'C', Token: 's3cret' }, true), {
    PATH: 'D:\\own', SystemRoot: 'C:\\Windows', Lang: 'C',
  })
  t.end()
})
