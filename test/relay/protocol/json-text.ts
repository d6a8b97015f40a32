import fc from 'fast-check'

/** Any text without half surrogate pairs. */
export const text = fc.string({ unit: 'grapheme', maxLength: 12 })

/** A key: often one that means something to JavaScript, or that sorts as an index. */
const key = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 1, arbitrary: fc.constantFrom('__proto__', 'constructor', '0', '17', '', 'id', 'ID', '"', '\\') },
)

/** A JSON value, as something that can be written in more than one way: an object is a list of members. */
export type Model =
  | { readonly kind: 'scalar'; readonly value: null | boolean | number }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'array'; readonly elements: readonly Model[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [string, Model])[] }

const scalar =
  fc.oneof(fc.constant(null), fc.boolean(), fc.integer(), fc.double({ noDefaultInfinity: true, noNaN: true }))

export const model: fc.Arbitrary<Model> = fc.letrec<{ value: Model }>(tie => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    scalar.map((value): Model => ({ kind: 'scalar', value })),
    text.map((value): Model => ({ kind: 'string', value })),
    fc.array(tie('value'), { maxLength: 5 }).map((elements): Model => ({ kind: 'array', elements })),
    fc
      .uniqueArray(fc.tuple(key, tie('value')), { selector: ([name]) => name, maxLength: 6 })
      .map((members): Model => ({ kind: 'object', members })),
  ),
})).value

/** Picks a number below the given one. */
export type Pick = (below: number) => number

/** Picks from a list of numbers, over and over. */
export const picks = fc.array(fc.nat(1000), { minLength: 1, maxLength: 40 }).map((numbers): (() => Pick) =>
  () => {
    let at = 0
    return below => (numbers[at++ % numbers.length] ?? 0) % below
  })

/** Writes a value with white space and escapes as they are picked. */
export const write = (value: Model, pick: Pick): string => {
  const space = () => ['', '', '', ' ', '\n', '\r\n\t'][pick(6)] ?? ''
  switch (value.kind) {
    case 'scalar':
      return number(value.value, pick)
    case 'string':
      return writeString(value.value, pick)
    case 'array':
      return `[${space()}${value.elements.map(one => write(one, pick) + space()).join(`,${space()}`)}]`
    case 'object':
      return `{${space()}${value.members
        .map(([name, one]) => `${writeString(name, pick)}${space()}:${space()}${write(one, pick)}${space()}`)
        .join(`,${space()}`)}}`
  }
}

const number = (value: null | boolean | number, pick: Pick): string => {
  if (typeof value !== 'number' || !Number.isInteger(value) || Math.abs(value) > 1e6) {
    return JSON.stringify(value)
  }
  return [String(value), `${value}.0`, `${value}e0`, `${value * 10}E-1`][pick(4)] ?? ''
}

export const writeString = (value: string, pick: Pick): string => {
  const unit = (one: string): string => {
    const plain = JSON.stringify(one).slice(1, -1)
    return pick(5) === 0 ? `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}` : plain
  }
  // A pair is written as a pair: half of it in escapes is no UTF-8.
  const character = (one: string): string =>
    one.length === 1 ? unit(one) : pick(2) === 0 ? one : one.split('')
      .map(half => `\\u${half.charCodeAt(0).toString(16)}`).join('')
  return `"${Array.from(value, character).join('')}"`
}

/** The value that a model stands for. */
export const valueOf = (value: Model): unknown => {
  switch (value.kind) {
    case 'scalar':
    case 'string':
      return value.value
    case 'array':
      return value.elements.map(valueOf)
    case 'object': {
      const object = {}
      for (const [name, one] of value.members) {
        Object.defineProperty(
          object, name, { value: valueOf(one), enumerable: true, configurable: true, writable: true },
        )
      }
      return object
    }
  }
}
