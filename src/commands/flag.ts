import type { Problem } from '../config/problem.js'
import { CustomsError } from '../errors.js'
import { isObject, type Json, type JsonObject } from '../protocol/unmetered.js'

export interface Flag {
  readonly type: 'string' | 'boolean'
  readonly multiple?: boolean
  /** One letter that stands for the name. */
  readonly short?: string
  readonly choices?: readonly string[]
  /** What stands for its value in the help, such as `FILE`. */
  readonly value?: string
  /** What it is about: its heading in the help. */
  readonly group?: string
  /** The key of the configuration that it sets, such as `sessions.max`: its schema judges the value. */
  readonly key?: string
  /** Of a number; the configuration counts in milliseconds. */
  readonly unit?: 'seconds' | 'pieces'
  readonly describe: string
}

export type Flags = Readonly<Record<string, Flag>>

export const about = (group: string, flags: Flags): Flags =>
  Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { ...flag, group }]))

/** Flags by name, as they were given. */
export type Given = ReadonlyMap<string, string | boolean | readonly string[]>

/** What stands behind the flags: words, and the server's command line. */
export interface Rest {
  readonly words: readonly string[]
  readonly command: readonly string[] | undefined
}

export const text = (given: Given, name: string): string | undefined => {
  const value = given.get(name)
  return typeof value === 'string' ? value : undefined
}

export const texts = (given: Given, name: string): readonly string[] => {
  const value = given.get(name)
  return Array.isArray(value) ? value.map(String) : []
}

/** What flags say of the configuration, in its own words. */
export interface Settings {
  readonly written: JsonObject
  /** The same problem, at the flag that it came by. */
  readonly refusal: (problem: Problem) => CustomsError
}

/** @throws CustomsError BAD_USAGE */
export const readSettings = (flags: Flags, given: Given): Settings => {
  const written: Record<string, Json> = {}
  const byKey = new Map<string, string>()
  for (const [name, flag] of Object.entries(flags)) {
    const value = given.get(name)
    if (flag.key === undefined || value === undefined) continue
    const [outer = '', inner] = flag.key.split('.')
    const said = typeof value === 'string' ? valueOf(name, flag, value) : value
    const before = written[outer]
    written[outer] = inner === undefined ? said : { ...(isObject(before) && before), [inner]: said }
    byKey.set(flag.key, name)
  }
  const refusal = ({ keys, reason }: Problem): CustomsError => {
    const [outer, inner] = keys
    const name = byKey.get(String(outer)) ?? byKey.get(`${outer}.${inner}`) ?? ''
    const value = given.get(name)
    const unit = flags[name]?.unit === 'seconds' ? ' milliseconds' : ''
    return usage(name, Array.isArray(value) ? String(value[Number(inner)]) : String(value), `${reason}${unit}`)
  }
  return { written, refusal }
}

const valueOf = (name: string, { unit }: Flag, text: string): Json => {
  if (unit === 'seconds') return Math.round(seconds(name, text) * 1000)
  if (unit === 'pieces') return /^\d{1,15}$/.test(text) ? Number(text) : refuse(name, text, 'must be a whole number')
  return text
}

/** @throws CustomsError BAD_USAGE */
export const seconds = (flag: string, text: string): number =>
  /^\d{1,9}(?:\.\d+)?$/.test(text) ? Number(text) : refuse(flag, text, 'must be a number of seconds')

const refuse = (flag: string, text: string, reason: string): never => {
  throw usage(flag, text, reason)
}

const usage = (flag: string, text: string, reason: string): CustomsError =>
  new CustomsError('BAD_USAGE', `--${flag} ${JSON.stringify(text)}: ${reason}`)
