import type { Machine } from '../clients/known.js'
import type { Installation } from '../clients/launcher.js'
import { styleFor, type Style } from '../inspect/style.js'
import { dialogueOf, type Dialogue } from './dialogue.js'
import { thisInstallation, thisMachine } from './installation.js'
import { print } from './print.js'

/** What install and uninstall work with. */
export interface InstallContext {
  readonly machine: Machine
  readonly installation: Installation
  /** Undefined where there is nobody to ask. */
  readonly dialogue: Dialogue | undefined
  readonly style: Style
  /** Prints on stdout. */
  readonly print: (text: string) => Promise<void>
}

/** This machine, and the person at its terminal. */
export const thisContext = (): InstallContext => ({
  machine: thisMachine(),
  installation: thisInstallation(process.argv[1] ?? ''),
  dialogue: dialogueOf(process.stdin, process.stdout),
  style: styleFor(process.stdout, process.env),
  print,
})
