import { ownLogs } from '#relay/audit/place.js'
import { thisMachine } from '#relay/base/platform/machine.js'
import { findLogs } from '#relay/audit/read/logs.js'
import { CustomsError, pathText } from '#relay/base/errors.js'
import { styleFor, widthOf } from '#desk/terminal/style.js'
import { plainJson, quote } from '#relay/protocol/quote.js'
import { merge } from '#desk/report/merge.js'
import { LastTools, overviewText, toolsText } from '#desk/report/tools.js'
import { print } from '#desk/terminal/output.js'
import type { ToolsFlags } from '#cli/flags/audit.js'

/**
 * `tools [SERVER]`: what clients saw of each server when they listed its tools last, by the audit logs.
 * @throws CustomsError CANNOT_AUDIT when no log names the server, or a file cannot be read
 */
export const tools = async (
  server: string | undefined, { logs, json, all }: ToolsFlags,
): Promise<number> => {
  const places = logs.length > 0 ? logs : ownLogs(thisMachine())
  const last = new LastTools()
  for (const { record } of merge(await findLogs(places), () => undefined)) last.take(record)
  const { servers } = last
  const wanted = servers.filter(({ server: name }) => server === undefined || name === server)
  if (wanted.length === 0) {
    const where = places.map(pathText).join(', ')
    const names = servers.map(({ server: name }) => name).join(', ')
    throw new CustomsError('CANNOT_AUDIT', server === undefined || servers.length === 0
      ? `${where}: no client has listed tools yet: start the client once with its servers wrapped ` +
        '(mcp-customs install)'
      : `${where}: no list of a server ${quote(server)} is there (there is: ${names})`)
  }
  const [style, width] = [styleFor(process.stdout, process.env), widthOf(process.stdout)]
  await print(json
    ? `${plainJson(wanted.map(({ tools, ...rest }) => ({ ...rest, tools: Object.fromEntries(tools) })))}\n`
    : all || server !== undefined
      ? wanted.map(one => `${toolsText(one, style, width)}\n`).join('\n')
      : `${overviewText(wanted, style, width)}\n`)
  return 0
}
