import { relayFlags } from '#commands/flags.js'
import type { Recognizer } from '#clients/own-command.js'
import type { Wrapped } from '#clients/plan.js'
import type { Wanted } from '#clients/steps.js'
import type { Note } from '#clients/record.js'

export const program = '/opt/customs/dist/cli.js'

export const recognizer: Recognizer = {
  takesValue: option =>
    new Map(Object.entries(relayFlags).map(([name, { type }]) => [name, type === 'string'])).get(option),
  isOurs: file => file === program,
}

export const removing = (notes: readonly Note[]): Wanted => ({ isWanted: () => true, notes, recognizer })

export const installing = (other: Partial<Wrapped> = {}): Wrapped => ({
  ...removing([]),
  launcher: { words: ['/usr/bin/node', program], reason: 'a test' },
  policy: undefined,
  lockOf: () => undefined,
  pinOf: () => undefined,
  isGone: () => false,
  ...other,
})
