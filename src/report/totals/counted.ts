import { type Verdict, verdicts } from '../../core/findings.js'

/** Numbers in a fixed order, such as one for each verdict. */
export type Tally = number[]

export const verdictTally = (): Tally => verdicts.map(() => 0)

const places = new Map(verdicts.map((verdict, index) => [verdict, index]))

export const countVerdict = (tally: Tally, verdict: Verdict): void => addAt(tally, places.get(verdict) ?? 0, 1)

export const addAt = (tally: Tally, index: number, number: number): void => {
  tally[index] = (tally[index] ?? 0) + number
}

export const addAll = (tally: Tally, other: readonly number[]): void => {
  for (let index = 0; index < other.length; index += 1) addAt(tally, index, other[index] ?? 0)
}

export const sumOf = (tally: readonly number[]): number => tally.reduce((sum, number) => sum + number, 0)
