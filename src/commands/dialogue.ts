/** Questions to the person at the terminal. */
export interface Dialogue {
  /** @returns what was chosen; undefined when the person gave up */
  choose<Choice>(question: string, choices: readonly { readonly value: Choice; readonly label: string; readonly chosen: boolean }[]): Promise<readonly Choice[] | undefined>
  confirm(question: string): Promise<boolean>
}

/** Undefined where nobody could answer: in a pipe, in a script, in CI. */
export const dialogueOf = (input: NodeJS.ReadStream, output: NodeJS.WriteStream): Dialogue | undefined =>
  input.isTTY && output.isTTY ? terminal : undefined

// The package is loaded where there is somebody to ask.
const prompts = () => import('@clack/prompts')

const terminal: Dialogue = {
  choose: async (question, choices) => {
    const { isCancel, multiselect } = await prompts()
    // By number: the package wants to know whether values of any type are primitive.
    const options = choices.map(({ label }, value) => ({ value, label }))
    const initialValues = choices.flatMap(({ chosen }, index) => (chosen ? [index] : []))
    const chosen = await multiselect({ message: question, options, initialValues, required: false })
    return isCancel(chosen) ? undefined : choices.filter((_, index) => chosen.includes(index)).map(({ value }) => value)
  },
  confirm: async question => {
    const { confirm } = await prompts()
    return (await confirm({ message: question, initialValue: false })) === true
  },
}
