import type { keys } from '#relay/config/generated/keys.js'
import type { ConfigurationProblem } from '#relay/config/source.js'
import { badUsage, CustomsError } from '#relay/base/errors.js'
import type { WrittenSettings } from '#relay/host/settings.js'
import { isRecord, type Data } from '#relay/protocol/unmetered.js'

/** An option of a command: the parsers, help, completion and the types of the values derive from it. */
export interface Flag {
  readonly type: 'string' | 'boolean'
  readonly multiple?: boolean
  /** One letter that stands for the name. */
  readonly short?: string
  readonly choices?: readonly string[]
  /** The name of its value in the help, such as `FILE`. */
  readonly value?: string
  /** Its heading in the help. */
  readonly group?: string
  /**
   * The key of the configuration that it sets: the key's schema checks the value, and has its description and
   * default.
   */
  readonly key?: keyof typeof keys
  /** The unit of a number; the configuration counts in milliseconds. */
  readonly unit?: 'seconds' | 'pieces'
  /** The value of a flag that was not given. */
  readonly default?: string
  /** Undefined for a flag with a key, which has the key's description. */
  readonly describe?: string
}

export type Flags = Readonly<Record<string, Flag>>

export const about = <const Declared extends Flags>(group: string, flags: Declared): Declared =>
  Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, { ...flag, group }])) as Declared

/** Flags by name, as they were given. */
export type Given = ReadonlyMap<string, string | boolean | readonly string[]>

/** The words after the flags, and the server's command line. */
export interface Rest {
  readonly words: readonly string[]
  readonly command: readonly string[] | undefined
}

type Text<Declared extends Flag> = Declared extends { choices: readonly (infer Choice)[] } ? Choice : string

type Value<Declared extends Flag> =
  Declared extends { type: 'boolean' } ? boolean
    : Declared extends { multiple: true } ? readonly Text<Declared>[]
      : Text<Declared> | (Declared extends { default: string } ? never : undefined)

type Camel<Name extends string> =
  Name extends `${infer First}-${infer Others}` ? `${First}${Capitalize<Camel<Others>>}` : Name

/**
 * The values of flags by their names in camel case; a flag that is not repeatable and has no default may be
 * undefined.
 */
export type Values<Declared extends Flags> = {
  readonly [Name in keyof Declared & string as Camel<Name>]: Value<Declared[Name]>
}

export const valuesOf = <Declared extends Flags>(flags: Declared, given: Given): Values<Declared> =>
  Object.fromEntries(Object.entries(flags).map(([name, { type, multiple, default: usual }]) => {
    const value = given.get(name)
    const camel = name.replace(/-./g, ([, letter = '']) => letter.toUpperCase())
    return [camel, type === 'boolean' ? value === true : value ?? (multiple === true ? [] : usual)]
  })) as Values<Declared>

/** @throws CustomsError BAD_USAGE */
export const readSettings = (flags: Flags, given: Given): WrittenSettings => {
  const written: Record<string, Data> = {}
  const byKey = new Map<string, string>()
  for (const [name, flag] of Object.entries(flags)) {
    const value = given.get(name)
    if (flag.key === undefined || value === undefined) continue
    const [outer = '', inner] = flag.key.split('.')
    const read = typeof value === 'string' ? valueOf(name, flag, value) : value
    const before = written[outer]
    written[outer] = inner === undefined ? read : { ...(isRecord(before) && before), [inner]: read }
    byKey.set(flag.key, name)
  }
  const refusal = ({ keys, reason }: ConfigurationProblem): CustomsError => {
    const [outer, inner] = keys
    const name = byKey.get(String(outer)) ?? byKey.get(`${outer}.${inner}`) ?? ''
    const value = given.get(name)
    const unit = flags[name]?.unit === 'seconds' ? ' milliseconds' : ''
    const all = [value].flat().map(String)
    const one = (Array.isArray(value) ? all[Number(inner)] : undefined) ?? all.join(', ')
    // A flag is repeated where a file has a list.
    const why = reason.replace(/, not a list$/, '')
    return new CustomsError('BAD_USAGE', wrong(name, one, `${why}${unit}`))
  }
  return { written, refusal }
}

const valueOf = (name: string, { unit }: Flag, text: string): Data => {
  if (unit === 'seconds') return Math.round(seconds(name, text) * 1000)
  if (unit === 'pieces') {
    return /^\d{1,15}$/.test(text) ? Number(text) : badUsage(wrong(name, text, 'must be a whole number'))
  }
  return text
}

/** @throws CustomsError BAD_USAGE */
export const seconds = (flag: string, text: string): number =>
  /^\d{1,9}(?:\.\d+)?$/.test(text) ? Number(text) : badUsage(wrong(flag, text, 'must be a number of seconds'))

const wrong = (flag: string, text: string, reason: string): string =>
  `--${flag} ${JSON.stringify(text)}: ${reason}`
