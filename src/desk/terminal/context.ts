import type { ListServer } from '#desk/inspect/server.js'
import type { Installation, Recognizer } from '#relay/base/own-command.js'
import type { Machine } from '#relay/base/platform/machine.js'
import type { Style } from './style.js'

/** The environment of lock, install and uninstall; tests replace it. */
export interface Context {
  readonly machine: Machine
  readonly installation: Installation
  /** Whether an option of `wrap` takes a value; undefined for an unknown option. */
  readonly takesValue: Recognizer['takesValue']
  /** Undefined without a terminal. */
  readonly dialogue: Dialogue | undefined
  readonly style: Style
  /** Width of a line, in characters. */
  readonly width: number
  /** Writes the report to stdout. */
  readonly print: (text: string) => Promise<void>
  /** Writes a remark to stderr. */
  readonly tell: (line: string) => void
  readonly list: ListServer
  /** The version that a command line of ours prints, or why it prints none. */
  readonly versionOf: (words: readonly string[]) => Promise<
    { readonly version: string } | { readonly failure: string }
  >
  /** The newest version of a package, if its registry tells one. */
  readonly newestVersion: (registry: 'npm' | 'PyPI', name: string) => Promise<string | undefined>
}

/** Questions to the person at the terminal. */
export interface Dialogue {
  /** @returns what was chosen; undefined when the person gave up */
  choose<Choice>(
    question: string,
    choices: readonly { readonly value: Choice; readonly label: string; readonly chosen: boolean }[],
  ): Promise<readonly Choice[] | undefined>
  confirm(question: string): Promise<boolean>
}

/** Undefined where nobody can answer: in a pipe, a script or CI. */
export const dialogueOf = (input: NodeJS.ReadStream, output: NodeJS.WriteStream): Dialogue | undefined =>
  input.isTTY && output.isTTY ? terminal : undefined

const prompts = () => import('@clack/prompts')

const terminal: Dialogue = {
  choose: async (question, choices) => {
    const { isCancel, multiselect } = await prompts()
    // Options are numbered: clack's types need a primitive value.
    const options = choices.map(({ label }, value) => ({ value, label }))
    const initialValues = choices.flatMap(({ chosen }, index) => (chosen ? [index] : []))
    const chosen = await multiselect({ message: question, options, initialValues, required: false })
    return isCancel(chosen)
      ? undefined
      : choices.filter((_, index) => chosen.includes(index)).map(({ value }) => value)
  },
  confirm: async question => {
    const { confirm } = await prompts()
    return (await confirm({ message: question, initialValue: false })) === true
  },
}
