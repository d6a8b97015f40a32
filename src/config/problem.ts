/** The way to a value, from the root of what it stands in. */
export type Keys = readonly (string | number)[]

/** What is wrong with the value at these keys. Where they stand, in a file or among the flags, is for the reader of those to say. */
export class Problem extends Error {
  override readonly name = 'Problem'
  constructor(
    readonly keys: Keys,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`${wayTo(keys)}: ${reason}`, options)
  }
}

/** @throws Problem */
export const fail = (keys: Keys, reason: string): never => {
  throw new Problem(keys, reason)
}

/** The keys as a person reads them, such as `servers.files.command.0`. */
export const wayTo = (keys: Keys): string => keys.map(spell).join('.')

// A name with dots, spaces or anything that a terminal would act upon is quoted.
const spell = (key: string | number): string =>
  typeof key === 'number' || /^[\w@/-]{1,80}$/.test(key) ? String(key) : JSON.stringify(key.slice(0, 80))
