import fc from 'fast-check'
import t from 'tap'
import { acceptedOfLock } from '#relay/lock/accepted.js'
import { standardActions } from '#relay/lock/decide.js'
import { asDoubles, markLongNumbers, withDigits } from '#relay/lock/digits.js'
import { formatLock, parseLock, type Locked } from '#relay/lock/lock.js'
import type { Data, DataObject } from '#relay/protocol/unmetered.js'
import { Script } from '../core/script.js'
import { lockedAs, offering } from './offering.js'

const read = (text: string): Data =>
  JSON.parse((markLongNumbers(Buffer.from(text)) ?? text).toString()) as Data
const spelt = (text: string): string => withDigits(JSON.stringify(read(text)))

t.test('numbers that a double does not hold keep their digits, in one spelling', t => {
  const cases: readonly (readonly [string, string])[] = [
    ['12345678901234567890', '12345678901234567890'],
    ['12345678901234567890.0', '12345678901234567890'],
    ['1.2345678901234567890e19', '12345678901234567890'],
    ['-9007199254740993', '-9007199254740993'],
    ['0.1234567890123456789', '1234567890123456789e-19'],
    ['0.10000000000000000000', '0.1'],
    ['9007199254740992', '9007199254740992'],
    ['1e400', '1e400'],
    ['1e-400', '1e-400'],
    ['0e-400', '0'],
    ['1e21', '1e+21'],
    ['"12345678901234567890"', '"12345678901234567890"'],
    ['"\\"12345678901234567890"', '"\\"12345678901234567890"'],
    [
      '[12345678901234567890,{"a":12345678901234567891}]',
      '[12345678901234567890,{"a":12345678901234567891}]',
    ],
  ]
  for (const [text, expected] of cases) t.equal(spelt(text), expected, text)
  t.end()
})

const value = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Data>

t.test('what has no such number is left as it is; what has is read by others as before', t => {
  fc.assert(fc.property(
    value, value => JSON.stringify(read(JSON.stringify(value))) === JSON.stringify(value),
  ))
  const digits =
    fc.tuple(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.integer({ min: -50, max: 50 }))
      .map(([number, power]) => `${number}e${power}`)
  fc.assert(fc.property(digits, fc.string(), (number, key) => {
    const text = JSON.stringify({ [key]: [key, 1] }).replace('1]', `${number}]`)
    return Object.is(JSON.stringify(asDoubles(read(text))), JSON.stringify(JSON.parse(text)))
  }))
  fc.assert(fc.property(
    fc.bigInt({ min: 10n ** 16n, max: 10n ** 40n }),
    number => spelt(`${number}`) !== spelt(`${number + 1n}`) && spelt(`${number}`) === spelt(`${number}0e-1`),
  ))
  t.end()
})

const tool = (digits: string, more = ''): string =>
  `{"name":"a"${more},"inputSchema":{"type":"object","properties":{"n":{"const":${digits}}}}}`

/** What was accepted, by way of a file. */
const accepted = (digits: string): Locked | undefined => {
  const locked = lockedAs(offering([read(tool(digits)) as DataObject]))
  const text = formatLock(new Map([['s', locked]]))
  return parseLock(read(text), 'lock').get('s')
}

t.test('a change beyond a double is a change, and what is shown has the digits that were accepted', t => {
  const locked = accepted('12345678901234567890')
  if (locked === undefined) return t.fail()
  const listed = (definition: string) => {
    const script = new Script({
      accepted: acceptedOfLock('s', locked, standardActions, { isFrozen: false, isTrusted: false }),
      actions: { 'tool/drift': 'block' },
    })
    script.client({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
    script.server(`{"jsonrpc":"2.0","id":1,"result":{"tools":[${definition}]}}`)
    return {
      shown: script.raw.at(-1)?.bytes ?? '',
      rules: script.entries.at(-1)?.findings.map(({ message }) => /\((.*?)\)/.exec(message)?.[1]),
    }
  }
  t.match(listed(tool('12345678901234567890')), { shown: tool('12345678901234567890'), rules: [] })
  t.strictSame(listed(tool('1.234567890123456789e19')).rules, [], 'another spelling')
  t.match(listed(tool('12345678901234567891')), { shown: '"tools":[]', rules: ['input schema'] })
  t.match(listed(tool('"12345678901234567890"')), { shown: '"tools":[]', rules: ['input schema'] })
  t.match(listed(tool('12345678901234567890', ',"_meta":{"v":1}')), {
    shown: '"const":12345678901234567890', rules: ['_meta'],
  })
  t.end()
})

t.test('the digits stand in the file, and are held by the digest', t => {
  const text =
    formatLock(new Map([['s', lockedAs(offering([read(tool('12345678901234567890')) as DataObject]))]]))
  t.match(text, '"const": 12345678901234567890')
  t.throws(() => parseLock(read(text.replace('567890', '567891')), 'lock'), {
    code: 'BAD_CONFIG', message: /not what its digest says/,
  })
  t.end()
})
