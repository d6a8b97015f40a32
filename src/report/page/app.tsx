import { useEffect, useState } from 'preact/hooks'
import type { GroupSummary, Summary } from '../summary.js'
import { count, whole } from '../units.js'
import { Distribution } from './distribution.js'
import { HeldBack } from './held.js'
import type { Connection } from './live.js'
import { Logs, Offers, Sessions } from './lists.js'
import { Header } from './header.js'
import { OverTime } from './over-time.js'
import { Rules, Servers, Tools } from './tables.js'
import { Tiles } from './tiles.js'

interface AppProps {
  readonly summary: Summary
  /** Undefined: the page stands for itself. */
  readonly connection?: Connection
}

/** Everything at a glance first, then what was held back, then by server, tool and rule, then what there is to look up. */
export const App = ({ summary, connection }: AppProps) => {
  const [chosen, choose] = useState<string>()
  const { held, sessions, offers, logs, verdicts, families, servers } = summary
  const server = servers.find(group => group.server === chosen)
  const group: GroupSummary = server ?? summary.all
  const of = <Row extends { readonly server: string }>(rows: readonly Row[]): readonly Row[] =>
    server === undefined ? rows : rows.filter(row => row.server === server.server)
  useEffect(() => {
    document.title = connection === undefined ? `mcp-customs report${server?.server === undefined ? '' : `: ${server.server}`}` : `${held.rows.length === 0 ? '' : `(${whole(held.rows.length + held.left)}) `}mcp-customs`
  })
  return (
    <>
      <Header summary={summary} connection={connection} chosen={server?.server} choose={choose} />
      <main>
        <Tiles group={group} verdicts={verdicts} />
        <div class="pair">
          <OverTime title="Calls over time" noun="call" names={verdicts} series={group.series} rows={group.series.calls} colour={name => `--${name}`} />
          <OverTime title="Findings over time" noun="finding" names={families} series={group.series} rows={group.series.findings} colour={name => `--family-${name}`} note="Without annotations that were removed" />
        </div>
        <HeldBack rows={of(held.rows)} left={held.left} verdicts={verdicts} isLive={connection !== undefined} />
        {servers.length > 1 && <Servers groups={servers} verdicts={verdicts} chosen={server?.server} choose={choose} />}
        <Tools tools={group.tools} verdicts={verdicts} isOfOne={server !== undefined || servers.length === 1} />
        <div class="pair">
          <Rules rules={group.rules} verdicts={verdicts} />
          <Distribution group={group} />
        </div>
        <Offers rows={of(offers.rows)} left={offers.left} />
        <Sessions rows={of(sessions.rows)} left={sessions.left} now={summary.made} />
        {logs !== undefined && <Logs logs={logs} />}
      </main>
      <footer>
        {count(summary.records, 'record')} read{summary.unreadable > 0 && `, and ${count(summary.unreadable, 'line')} that could not be`}. Quantiles are within 2 %. Times are those of this browser's zone.
      </footer>
    </>
  )
}
