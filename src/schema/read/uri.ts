import type { Budget } from '../budget.js'

/**
 * The base of a schema that names none: relative ids resolve against it, and nothing outside the schema has it.
 * Its scheme has no defaults that the WHATWG algorithm would add.
 */
export const unnamed = 'schema://unnamed/'

/** A URI and its fragment (without `#`, undecoded; empty when there is none). */
export interface Address {
  readonly uri: string
  readonly fragment: string
}

/** Longer ones are refused: each is resolved against the one before. */
const longest = 2048

/** A reference resolved against a base without fragment; undefined when that gives no URI. */
export const resolve = (base: string, reference: string, budget: Budget): Address | undefined => {
  if (reference.startsWith('#')) return { uri: base, fragment: reference.slice(1) }
  if (reference.length > longest) return undefined
  budget.spend(150 + (base.length >> 3) + 5 * reference.length)
  try {
    const { href } = new URL(reference, base)
    return href.length > longest ? undefined : split(href)
  } catch {
    return undefined
  }
}

const split = (uri: string): Address => {
  const hash = uri.indexOf('#')
  return hash === -1 ? { uri, fragment: '' } : { uri: uri.slice(0, hash), fragment: uri.slice(hash + 1) }
}

export const decodeFragment = (fragment: string): string | undefined => {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}
