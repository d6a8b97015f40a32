import { useEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'

interface ChartProps {
  /** For those who do not see it. */
  readonly label: string
  readonly data: uPlot.AlignedData
  /** @param colour what a custom property of the page stands for at present */
  readonly options: (colour: (name: string) => string) => Omit<uPlot.Options, 'width' | 'height'>
  readonly height: number
  /** Told of the column under the pointer, and of undefined when there is none. */
  readonly point?: (index: number | undefined) => void
}

/** A picture by uPlot, as wide as its place, in the colours of the page. */
export const Chart = ({ label, data, options, height, point }: ChartProps) => {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const scheme = useScheme()
  const shape = JSON.stringify(data.length)
  useEffect(() => {
    const { current } = place
    if (!current) return
    const style = getComputedStyle(current)
    const made = options(name => style.getPropertyValue(name).trim())
    const hover = (one: uPlot) => point?.(one.cursor.idx ?? undefined)
    const chart = new uPlot({ ...made, width: current.clientWidth, height, hooks: { setCursor: [hover] } }, data, current)
    plot.current = chart
    const observer = new ResizeObserver(() => chart.setSize({ width: current.clientWidth, height }))
    observer.observe(current)
    return () => {
      observer.disconnect()
      chart.destroy()
      plot.current = undefined
    }
  }, [scheme, shape, height])
  useEffect(() => plot.current?.setData(data), [data])
  return <div class="chart" ref={place} role="img" aria-label={label} style={{ height: `${height}px` }} />
}

/** Changes with the colours of the page: light or dark, and always light on paper. */
const useScheme = (): string => {
  const [scheme, setScheme] = useState('screen')
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)')
    const paper = matchMedia('print')
    const change = () => setScheme(paper.matches ? 'paper' : dark.matches ? 'dark' : 'light')
    change()
    for (const query of [dark, paper]) query.addEventListener('change', change)
    return () => {
      for (const query of [dark, paper]) query.removeEventListener('change', change)
    }
  }, [])
  return scheme
}

/** What all pictures have in common. */
export const axesOf = (colour: (name: string) => string) => {
  const axis = { stroke: colour('--dim'), font: '12px system-ui, sans-serif', ticks: { show: false }, border: { show: false } }
  return {
    across: { ...axis, grid: { show: false }, size: 28 },
    up: { ...axis, grid: { stroke: colour('--line'), width: 1 }, size: 44 },
  }
}
