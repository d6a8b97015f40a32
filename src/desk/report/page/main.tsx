import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Parts, type ReadingProgress, type Summary, windowSummary } from '../summary.js'
import { App, type FeedConnection, Loading } from './app.js'
import 'uplot/dist/uPlot.min.css'
import './page.css'

/** The page over an event stream, which sends the parts of the summary that have changed. */
const Live = () => {
  const [parts, setParts] = useState<Parts>(new Map())
  const [connection, setConnection] = useState<FeedConnection>('connecting')
  useEffect(() => {
    // The query holds the token of the page, which the event stream asks for as well.
    const events = new EventSource(`events${location.search}`)
    events.onmessage = ({ data }: MessageEvent<string>) => {
      setConnection('live')
      const changed = JSON.parse(data) as Readonly<Record<string, unknown>>
      setParts(before => new Map([...before, ...Object.entries(changed)]))
    }
    events.onerror = () => setConnection('lost')
    return () => events.close()
  }, [])
  const summary = windowSummary(parts)
  const reading = parts.get('reading') as ReadingProgress | null | undefined ?? undefined
  if (summary !== undefined) return <App summary={summary} connection={connection} reading={reading} />
  if (connection !== 'lost') return <Loading reading={reading} />
  return <p class="waiting">The relay does not answer. This page goes on when it does.</p>
}

// Print uses the light colours; the class has to be set before the charts are drawn for print.
addEventListener('beforeprint', () => document.documentElement.classList.add('paper'))
addEventListener('afterprint', () => document.documentElement.classList.remove('paper'))

const place = document.getElementById('page')
const written = document.getElementById('summary')?.textContent
if (place) render(written === undefined ? <Live /> : <App summary={JSON.parse(written) as Summary} />, place)
