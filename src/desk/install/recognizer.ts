import { startsThis } from '#relay/base/installation.js'
import { type Recognizer, sameWords } from '#relay/base/own-command.js'
import type { Context } from '#desk/terminal/context.js'
import type { Note } from './clients/record.js'

/** Whether words start us: `install` has written them, or they start this very program. */
export const recognizerOf = (
  notes: readonly Note[], { installation, takesValue }: Pick<Context, 'installation' | 'takesValue'>,
): Recognizer => ({
  takesValue,
  isOurs: words => startsThis(words, installation)
    || notes.some(note => note.words.length > 0 && sameWords(note.words, words)),
})
