import { homedir } from 'node:os'
import { type Context, dialogueOf } from '#desk/terminal/context.js'
import { print } from '#desk/terminal/output.js'
import { styleFor, widthOf } from '#desk/terminal/style.js'
import { thisInstallation } from '#relay/base/installation.js'
import { thisMachine } from '#relay/base/platform/machine.js'
import type { Flag } from './flag.js'
import { relayFlags } from './flags/relay.js'

/** This machine, and the person at its terminal. */
export const thisContext = (): Context => ({
  machine: thisMachine(),
  installation: thisInstallation(),
  takesValue,
  dialogue: dialogueOf(process.stdin, process.stdout),
  style: styleFor(process.stdout, process.env),
  width: widthOf(process.stdout),
  print,
  tell: line => void process.stderr.write(`mcp-customs: ${line}\n`),
  // Loaded on demand: it brings the transports along.
  list: async (...wanted) => (await import('#desk/inspect/server.js')).listServer(...wanted),
  versionOf: async ([program = '', ...words]) => {
    const { run } = await import('#relay/transport/process/run.js')
    // Clients start servers outside any project, where npx may find another package of this name.
    const ran = await run({ command: [program, ...words, '--version'], cwd: homedir() }, startMs)
    return 'failure' in ran ? ran : { version: ran.stdout.trim() }
  },
  newestVersion: async (...wanted) =>
    (await import('#desk/install/registry.js')).newestVersion(...wanted, thisMachine()),
})

const relayOptions: ReadonlyMap<string, Flag> = new Map(Object.entries(relayFlags))

export const takesValue: Context['takesValue'] = option => {
  const flag = relayOptions.get(option)
  return flag && flag.type === 'string'
}

/** How long our own command may take to start, in milliseconds: npx may have to fetch it. */
const startMs = 30_000
