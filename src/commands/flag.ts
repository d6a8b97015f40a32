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
