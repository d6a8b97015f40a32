import { render } from 'preact'
import type { Summary } from '../summary.js'
import { App } from './app.js'
import { Live } from './live.js'
import 'uplot/dist/uPlot.min.css'
import './page.css'

// Paper is white, whatever the screen is: before the pictures are drawn for it.
addEventListener('beforeprint', () => document.documentElement.classList.add('paper'))
addEventListener('afterprint', () => document.documentElement.classList.remove('paper'))

const place = document.getElementById('page')
const written = document.getElementById('summary')?.textContent
if (place) render(written === undefined ? <Live /> : <App summary={JSON.parse(written) as Summary} />, place)
