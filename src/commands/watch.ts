import { Calls } from '../capture/calls.js'
import { Counts } from '../learn/counts.js'
import type { Witness } from './guard.js'

/** Counts how tools answer, and says on stderr at the session's end which of them could have a contract. */
export const watch = (): Witness => ({
  record: ({ server, stateless }) => {
    const [calls, counts] = [new Calls(stateless), new Counts()]
    return {
      asked: () => undefined,
      handled: event => {
        if (event.type === 'session-ended') process.stderr.write(reportOf(server, counts.report()))
        if (event.type !== 'frame-received') return
        for (const told of calls.heard(event.from, event.exchange.name, event.frame)) {
          if (told.kind === 'declared') counts.declared(told.tool, told.hasOutputSchema)
          else counts.answered(told.tool, told.result)
        }
      },
    }
  },
  close: () => undefined,
})

const reportOf = (server: string, lines: readonly string[]): string =>
  lines.length === 0
    ? `mcp-customs: ${server}: no tool that declares nothing was called\n`
    : `mcp-customs: ${server}: tools that could have a contract (capture their calls, then \`learn\`)\n${lines.map(line => `  ${line}\n`).join('')}`
