import { parseJson, type Json, type JsonObject } from './json.js'

/** What is asked of a value to have what stands behind it: no member of JSON is called so. A WeakMap would cost the garbage collector more. */
const itself = Symbol('unread')

/** A value that is parsed when somebody first looks into it. */
class Unread implements ProxyHandler<JsonObject | readonly Json[]> {
  readonly text: Buffer
  #value: object | undefined

  constructor(text: Buffer) {
    this.text = text
  }

  get value(): object {
    const value = this.#value ?? parseJson(this.text.toString())
    if (typeof value !== 'object' || value === null) throw new TypeError('the text is not that of an object or array')
    return (this.#value = value)
  }

  get(_: object, key: string | symbol): unknown {
    if (key === itself) return this
    return Reflect.get(this.value, key)
  }

  has(_: object, key: string | symbol): boolean {
    return Reflect.has(this.value, key)
  }

  ownKeys(): (string | symbol)[] {
    return Reflect.ownKeys(this.value)
  }

  getOwnPropertyDescriptor(_: object, key: string | symbol): PropertyDescriptor | undefined {
    return Reflect.getOwnPropertyDescriptor(this.value, key)
  }

  // What was received is not changed: whoever tries is told so, where it would be lost.
  defineProperty(): boolean {
    return false
  }

  deleteProperty(): boolean {
    return false
  }

  preventExtensions(): boolean {
    return false
  }
}

/**
 * An object or array that is parsed when somebody first looks into it; that it is there, and which of the two it is, is known without. To all
 * who look it is what `JSON.parse` gives; it cannot be changed, nor cloned (`structuredClone`, `postMessage`): a thread is sent its text.
 * @param text surely JSON, and the text of such a value
 */
export const unread = (text: Buffer, named: boolean): Json => {
  return new Proxy<JsonObject | readonly Json[]>(named ? {} : [], new Unread(text))
}

const unreadOf = (value: Json): Unread | undefined => {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, itself) : undefined
  return found instanceof Unread ? found : undefined
}

/** The JSON text of a value that need not be parsed to be judged. */
export const textOf = (value: Json): Buffer | undefined => unreadOf(value)?.text

/** The value itself, parsed: whoever looks at all of it is quicker with that. */
export const read = (value: Json): Json => (unreadOf(value)?.value as Json | undefined) ?? value
