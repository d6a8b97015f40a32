import type { Machine } from '../clients/known.js'
import type { Installation } from '../clients/launcher.js'
import { styleFor, widthOf, type Style } from '../inspect/style.js'
import { dialogueOf, type Dialogue } from './dialogue.js'
import { thisInstallation, thisMachine } from './installation.js'
import type { ListServer } from './list-server.js'
import { print } from './print.js'

/** What lock, install and uninstall work with. */
export interface Context {
  readonly machine: Machine
  readonly installation: Installation
  /** Undefined where there is nobody to ask. */
  readonly dialogue: Dialogue | undefined
  readonly style: Style
  /** Of a line, in characters. */
  readonly width: number
  /** Prints on stdout. */
  readonly print: (text: string) => Promise<void>
  /** Tells what is no part of the report: on stderr. */
  readonly tell: (line: string) => void
  readonly list: ListServer
}

/** This machine, and the person at its terminal. */
export const thisContext = (): Context => ({
  machine: thisMachine(),
  installation: thisInstallation(process.argv[1] ?? ''),
  dialogue: dialogueOf(process.stdin, process.stdout),
  style: styleFor(process.stdout, process.env),
  width: widthOf(process.stdout),
  print,
  tell: line => void process.stderr.write(`mcp-customs: ${line}\n`),
  // What speaks to servers is loaded where one is asked.
  list: async (...wanted) => (await import('./list-server.js')).listServer(...wanted),
})
