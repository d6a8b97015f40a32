import { render } from 'preact'
import type { Summary } from '../summary.js'
import { App } from './app.js'
import { Live } from './live.js'
import 'uplot/dist/uPlot.min.css'
import './page.css'

const place = document.getElementById('page')
const written = document.getElementById('summary')?.textContent
if (place) render(written === undefined ? <Live /> : <App summary={JSON.parse(written) as Summary} />, place)
