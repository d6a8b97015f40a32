import { takesValue } from '#cli/context.js'
import { sameWords, type Recognizer } from '#relay/base/own-command.js'
import type { Wrapped } from '#desk/install/clients/plan.js'
import type { WantedEntries } from '#desk/install/clients/steps.js'
import type { Note } from '#desk/install/clients/record.js'

export const program = '/opt/customs/dist/cli.js'

/** A link to our program, of another name. */
export const linked = '/usr/local/bin/customs'

/** What starts us: `install` has written these words, or they start this very program. */
export const ownLaunchers: readonly (readonly string[])[] = [
  ['/usr/bin/node', program],
  ['/usr/bin/none/node', program],
  ['/usr/bin/node', '/gone/mcp-customs/dist/cli.js'],
  ['/usr/bin/node', '/tmp/x/mcp-customs/dist/cli.js'],
  ['mcp-customs'],
  [linked],
  ['npx', '-y', 'mcp-customs@0.1.0'],
  ['cmd', '/c', 'npx', '-y', 'mcp-customs@0.1.0'],
]

export const recognizer: Recognizer = {
  takesValue,
  isOurs: words => ownLaunchers.some(own => sameWords(own, words)),
}

export const removing = (notes: readonly Note[]): WantedEntries =>
  ({ isWanted: () => true, notes, recognizer })

export const installing = (other: Partial<Wrapped> = {}): Wrapped => ({
  ...removing([]),
  launcher: { words: ['/usr/bin/node', program], reason: 'a test' },
  policy: undefined,
  lockOf: () => undefined,
  pinOf: () => undefined,
  isGone: () => false,
  ...other,
})
