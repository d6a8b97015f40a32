import { useEffect, useRef } from 'preact/hooks'
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

/** On paper, two pictures stand beside each other: in pixels of CSS. */
const paperWidth = 320

/** A picture by uPlot, as wide as its place, in the colours of the page. */
export const Chart = ({ label, data, options, height, point }: ChartProps) => {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const latest = useRef(data)
  latest.current = data
  useEffect(() => {
    const { current } = place
    if (!current) return
    const draw = (width: number) => {
      plot.current?.destroy()
      const style = getComputedStyle(current)
      const made = options(name => style.getPropertyValue(name).trim())
      plot.current = new uPlot({ ...made, width, height, hooks: { setCursor: [chart => point?.(chart.cursor.idx ?? undefined)] } }, latest.current, current)
    }
    const again = () => draw(current.clientWidth)
    // Before it is printed, a page has the size of its window yet; and what is drawn later is not printed.
    const onPaper = () => draw(paperWidth)
    again()
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: current.clientWidth, height }))
    observer.observe(current)
    dark.addEventListener('change', again)
    addEventListener('beforeprint', onPaper)
    addEventListener('afterprint', again)
    return () => {
      observer.disconnect()
      dark.removeEventListener('change', again)
      removeEventListener('beforeprint', onPaper)
      removeEventListener('afterprint', again)
      plot.current?.destroy()
      plot.current = undefined
    }
  }, [height])
  useEffect(() => plot.current?.setData(data), [data])
  return <div class="chart" ref={place} role="img" aria-label={label} style={{ height: `${height}px` }} />
}

const dark = matchMedia('(prefers-color-scheme: dark)')

/** What all pictures have in common. */
export const axesOf = (colour: (name: string) => string) => {
  const axis = { stroke: colour('--dim'), font: '12px system-ui, sans-serif', ticks: { show: false }, border: { show: false } }
  return {
    across: { ...axis, grid: { show: false }, size: 28 },
    up: { ...axis, grid: { stroke: colour('--line'), width: 1 }, size: 44 },
  }
}
