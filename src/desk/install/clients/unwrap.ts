import type { CommandServer, ServerEntry } from './entry.js'
import { innermost, type OwnCommand } from '#relay/base/own-command.js'
import type { Note } from './record.js'
import type { Document, MemberOf, Splice, TextListValue } from './tree.js'
import { regionOf, treeSlice } from './tree.js'

export interface WrappedServer extends CommandServer {
  readonly args: MemberOf<TextListValue>
  readonly own: OwnCommand
}

export const isWrapped = (server: CommandServer): server is WrappedServer =>
  server.own !== undefined && server.args !== undefined

/**
 * The changes that unwrap a server: the text that was there before, where the entry is as `install` left it,
 * else the words of its command. Other edits since then stay.
 * @returns a text when the entry cannot be unwrapped: the reason
 */
export const unwrapEdits = (
  document: Document, { member }: ServerEntry, { command, args, own }: WrappedServer, note: Note | undefined,
): readonly Splice[] | string => {
  const region = regionOf(member)
  if (note?.before !== undefined && treeSlice(document, region) === note.after) {
    return [{ ...region, text: note.before }]
  }
  const { target: index, remote } = innermost(own)
  if (remote) return 'it is not as install left it, and its URL and headers stood elsewhere'
  const { elements } = args.value
  const [first, target, next] = [elements[0], elements[index - 1], elements[index]]
  if (first === undefined || target === undefined) return 'its args do not hold its command'
  return [
    { from: command.value.from, to: command.value.to, text: treeSlice(document, target) },
    // The target itself went in front as well.
    { from: first.from, to: next?.from ?? target.to, text: '' },
  ]
}
