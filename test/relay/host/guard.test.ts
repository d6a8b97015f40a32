import t from 'tap'
import { watchByteValidator } from '#relay/host/guard.js'
import { ByteValidator } from '#relay/judge/index.js'
import { byteValidatorFailures } from '#relay/protocol/read-fast.js'

t.test('a failure of the byte validator is logged once and counted each time', async t => {
  const warnings: string[] = []
  let count = 0
  const end = watchByteValidator(
    { warn: message => warnings.push(message) }, { byteValidatorFailed: () => { count += 1 } },
  )
  const wasm = Reflect.get(globalThis, 'WebAssembly') as unknown
  t.teardown(() => Reflect.set(globalThis, 'WebAssembly', wasm))
  Reflect.set(globalThis, 'WebAssembly', undefined)
  const validator = new ByteValidator([])
  for (let time = 1; time <= 3; time++) {
    t.equal(validator.readResult(Buffer.from('{}'), 10), undefined)
    t.equal(count, time)
  }
  t.equal(warnings.length, 1)
  t.match(warnings[0], /^the byte validator failed, so that results are parsed/)
  end()
  byteValidatorFailures.publish(new Error('later'))
  t.equal(count, 3, 'not after the end')
})
