import { useEffect, useState } from 'preact/hooks'
import { type Parts, summaryOf } from '../summary.js'
import { App } from './app.js'

export type Connection = 'connecting' | 'live' | 'lost'

/** The same page over what is sent: parts of it, each whenever it has changed. */
export const Live = () => {
  const [parts, setParts] = useState<Parts>(new Map())
  const [connection, setConnection] = useState<Connection>('connecting')
  useEffect(() => {
    // The token is in the address of the page, and nowhere else.
    const events = new EventSource(`events${location.search}`)
    events.onmessage = ({ data }: MessageEvent<string>) => {
      setConnection('live')
      const changed = JSON.parse(data) as Readonly<Record<string, unknown>>
      setParts(before => new Map([...before, ...Object.entries(changed)]))
    }
    events.onerror = () => setConnection('lost')
    return () => events.close()
  }, [])
  const summary = summaryOf(parts)
  if (summary === undefined) return <p class="waiting">{connection === 'lost' ? 'The relay does not answer. This page goes on when it does.' : 'Reading …'}</p>
  return <App summary={summary} connection={connection} />
}
