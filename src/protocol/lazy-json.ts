import { parseJson, type Json, type JsonObject } from './json.js'

/** The key under which a proxy gives its handler: no member of JSON has a symbol for a name. A WeakMap would cost the garbage collector more. */
const handler = Symbol('lazy')

/** Parses the text of an object or array when a member of it is first asked for. */
class LazyJson implements ProxyHandler<JsonObject | readonly Json[]> {
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
    return key === handler ? this : Reflect.get(this.value, key)
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

  // Received JSON is not changed: an attempt throws, for the change would be lost.
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
 * An object or array that is parsed when it is first looked into. It looks like the value that `JSON.parse` gives; it cannot
 * be changed or cloned (`structuredClone`, `postMessage`): a thread is sent the text.
 * @param text valid JSON, of such a value
 */
export const lazyJson = (text: Buffer, isObjectText: boolean): Json =>
  new Proxy<JsonObject | readonly Json[]>(isObjectText ? {} : [], new LazyJson(text))

const lazyOf = (value: Json): LazyJson | undefined => {
  const found: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, handler) : undefined
  return found instanceof LazyJson ? found : undefined
}

/** The JSON text of a lazy value. */
export const textOf = (value: Json): Buffer | undefined => lazyOf(value)?.text

/** The parsed value in place of a lazy one: looking at all of it is quicker without the proxy. */
export const parsedOf = (value: Json): Json => (lazyOf(value)?.value as Json | undefined) ?? value
