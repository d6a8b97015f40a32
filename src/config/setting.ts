import { dirname, resolve } from 'node:path'
import { CustomsError } from '../errors.js'
import type { Json, JsonObject } from '../protocol/json.js'
import { suggestion } from './suggestion.js'

/** `process.env`, or what a test puts in its place. */
export type Environment = Readonly<Record<string, string | undefined>>

export interface Source {
  /** As the person named it: it stands in the messages. */
  readonly file: string
  readonly environment: Environment
}

export interface Range {
  readonly least: number
  readonly most: number
}

/**
 * One value of a file, with the way to it, so that every error can name both. Messages show what stands in the file, never
 * what the environment put in its place.
 */
export class Setting {
  constructor(
    readonly source: Source,
    readonly value: Json | undefined,
    readonly keys: readonly (string | number)[] = [],
  ) {}

  /** @throws CustomsError BAD_CONFIG: `FILE: KEY.PATH: reason` */
  fail(reason: string): never {
    throw new CustomsError('BAD_CONFIG', [this.source.file, ...this.#way(), reason].join(': '))
  }

  /** The members of an object of which every key is known. */
  known<Key extends string>(keys: readonly Key[]): (key: Key) => Setting | undefined {
    const object = this.object()
    for (const key of Object.keys(object)) {
      if (keys.some(candidate => candidate === key)) continue
      const hint = suggestion(key, keys) || `; known here: ${keys.join(', ')}`
      this.#at(key, object[key]).fail(`unknown key${hint}`)
    }
    return key => (Object.hasOwn(object, key) ? this.#at(key, object[key]) : undefined)
  }

  /** The members of an object whose keys are the operator's own. */
  members(): readonly (readonly [string, Setting])[] {
    return Object.entries(this.object()).map(([key, value]) => [key, this.#at(key, value)])
  }

  elements(): readonly Setting[] {
    if (!Array.isArray(this.value)) return this.#wrong('a list')
    return this.value.map((element: Json, index) => this.#at(index, element))
  }

  object(): JsonObject {
    return isObject(this.value) ? this.value : this.#wrong('a map of keys')
  }

  /** Text, with each `${env:NAME}` replaced by the environment's. */
  text(): string {
    if (typeof this.value !== 'string') return this.#wrong('text')
    return this.value.replace(/\$\{env:([^}]*)\}?/g, (reference, name: string) => {
      if (!reference.endsWith('}') || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) {
        return this.fail('a reference to the environment is spelt ${env:NAME}')
      }
      const { environment } = this.source
      // `process.env` inherits from `Object.prototype`.
      const value = Object.hasOwn(environment, name) ? environment[name] : undefined
      return value ?? this.fail(`the environment variable ${name} is not set`)
    })
  }

  /** @param what what it may be, for the message: the value itself may be a secret */
  textLike(pattern: RegExp, what: string): string {
    const text = this.text()
    return pattern.test(text) ? text : this.fail(`must be ${what}`)
  }

  /** A path, relative to the file that names it. */
  path(): string {
    return resolve(dirname(this.source.file), this.textLike(/^[^\0]+$/, 'a path'))
  }

  choice<Choice extends string>(choices: readonly Choice[], what: string): Choice {
    const text = this.text()
    const chosen = choices.find(choice => choice === text)
    if (chosen !== undefined) return chosen
    const written = JSON.stringify(this.value)
    return this.fail(`${written} is no ${what}${suggestion(text, choices) || `: ${choices.join(', ')}`}`)
  }

  integer({ least, most }: Range): number {
    if (typeof this.value !== 'number') return this.#wrong('a number')
    if (Number.isInteger(this.value) && this.value >= least && this.value <= most) return this.value
    return this.fail(`must be a whole number from ${least} to ${most}`)
  }

  boolean(): boolean {
    return typeof this.value === 'boolean' ? this.value : this.#wrong('true or false')
  }

  #at(key: string | number, value: Json | undefined): Setting {
    return new Setting(this.source, value, [...this.keys, key])
  }

  #wrong(wanted: string): never {
    return this.fail(`must be ${wanted}, not ${kindOf(this.value)}`)
  }

  #way(): readonly string[] {
    return this.keys.length === 0 ? [] : [this.keys.map(spell).join('.')]
  }
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

// A name with dots, spaces or anything that a terminal would act upon is quoted.
const spell = (key: string | number): string =>
  typeof key === 'number' || /^[\w@/-]{1,80}$/.test(key) ? String(key) : JSON.stringify(key.slice(0, 80))

const kindOf = (value: Json | undefined): string => {
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map of keys'
  if (typeof value === 'string') return 'text'
  return typeof value === 'number' ? 'a number' : 'true or false'
}
