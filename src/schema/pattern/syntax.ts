import type { CharacterClass } from './character-class.js'

/** A pattern of ECMA-262, as it was read. */
export type Syntax =
  | CharacterClass
  | { readonly type: 'sequence'; readonly parts: readonly Syntax[] }
  | { readonly type: 'choice'; readonly options: readonly Syntax[] }
  | Repeat
  | { readonly type: 'assert'; readonly what: Assertion }
  | Look
  /** A capturing group, by its number from 1 on. */
  | { readonly type: 'group'; readonly body: Syntax; readonly index: number }
  /** A back reference. */
  | { readonly type: 'reference'; readonly group: { readonly index: number } }

export type Assertion = 'start' | 'end' | 'boundary' | 'inside'

export interface Look {
  readonly type: 'look'
  readonly body: Syntax
  readonly behind: boolean
  readonly negated: boolean
  /** By number; one inside of another has a smaller one. */
  readonly index: number
}

export interface Repeat {
  readonly type: 'repeat'
  readonly body: Syntax
  readonly min: number
  readonly max: number
  readonly lazy: boolean
  /** The capturing groups in it: the first, and the first after it. */
  readonly groups: readonly [number, number]
}

export interface Parsed {
  readonly root: Syntax
  /** Whether it is read, and matched, by code points (the `u` flag), not by halves of surrogate pairs. */
  readonly unicode: boolean
  /** How many capturing groups it has. */
  readonly groups: number
  readonly looks: readonly Look[]
  /** Whether it has a word boundary. */
  readonly words: boolean
  /** Whether it has a back reference. */
  readonly refers: boolean
  /** The large limits of its repetitions, sorted, each once. */
  readonly bounds: readonly number[]
}
