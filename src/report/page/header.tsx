import type { Summary } from '../summary.js'
import { clockOf, count, dayOf } from '../units.js'
import type { Connection } from './live.js'

interface HeaderProps {
  readonly summary: Summary
  readonly connection: Connection | undefined
  readonly chosen: string | undefined
  readonly choose: (server: string | undefined) => void
}

const words: Readonly<Record<Connection, string>> = { connecting: 'connecting', live: 'live', lost: 'no connection' }

export const Header = ({ summary, connection, chosen, choose }: HeaderProps) => {
  const { servers, logs } = summary
  return (
    <header>
      <div class="title">
        <h1>mcp-customs</h1>
        <p>{period(summary)}</p>
      </div>
      <div class="controls">
        {servers.length > 1 && (
          <label class="choice">
            Server{' '}
            <select value={chosen ?? ''} onChange={event => choose(event.currentTarget.value || undefined)}>
              <option value="">all {servers.length}</option>
              {servers.map(({ server = '' }) => <option key={server} value={server}>{server}</option>)}
            </select>
          </label>
        )}
        {logs !== undefined && <Chain logs={logs} />}
        {connection !== undefined && <span class={`state ${connection}`} role="status">{words[connection]}</span>}
      </div>
    </header>
  )
}

const period = ({ from, to }: Summary): string => {
  if (from === undefined || to === undefined) return 'Nothing is on record'
  const minute = (time: number) => clockOf(time).slice(0, 5)
  return dayOf(from) === dayOf(to) ? `${dayOf(from)}, ${minute(from)} to ${minute(to)}` : `${dayOf(from)} ${minute(from)} to ${dayOf(to)} ${minute(to)}`
}

const Chain = ({ logs }: { readonly logs: NonNullable<Summary['logs']> }) => {
  const broken = logs.filter(({ ok }) => !ok).length
  return broken === 0
    ? <a class="state live" href="#logs">{count(logs.length, 'log')} verified</a>
    : <a class="state lost" href="#logs">{broken} of {count(logs.length, 'log')} changed</a>
}
