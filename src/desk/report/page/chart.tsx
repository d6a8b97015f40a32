import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

interface ChartProps {
  /** For screen readers. */
  readonly label: string
  readonly data: uPlot.AlignedData
  /** @param colour reads the current value of a CSS custom property */
  readonly options: (colour: (name: string) => string) => Omit<uPlot.Options, 'width' | 'height'>
  readonly height: number
  /** Called with the index of the column under the pointer, or undefined. */
  readonly point?: (index: number | undefined) => void
  /** Called with the start and end of what was dragged over. */
  readonly choose?: (from: number, to: number) => void
}

/** In print, two charts stand side by side. In CSS pixels. */
const paperWidth = 320

/** A uPlot chart, as wide as its container, in the colours of the page. */
export const Chart = ({ label, data, options, height, point, choose }: ChartProps) => {
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
      const hooks = {
        setCursor: [(chart: uPlot) => point?.(chart.cursor.idx ?? undefined)],
        setSelect: [(chart: uPlot) => {
          const { select } = chart
          const [from, to] =
            [select.left, select.left + select.width].map(at => 1000 * chart.posToVal(at, 'x'))
          if (select.width > 4 && from !== undefined && to !== undefined) choose?.(from, to)
        }],
      }
      plot.current = new uPlot({ ...made, width, height, hooks }, latest.current, current)
    }
    const again = () => draw(current.clientWidth)
    // At beforeprint the layout still has the width of the window, and later drawing is not printed.
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

/** A vertical scale from 0 to a little above the greatest value. */
export const fromZero = (_: uPlot, __: number, most: number): [number, number] =>
  [0, Math.max(1, most * 1.05)]

/** The axes of all charts. */
export const axesOf = (colour: (name: string) => string) => {
  const hidden = { show: false }
  const axis = { stroke: colour('--dim'), font: '12px system-ui, sans-serif', ticks: hidden, border: hidden }
  return {
    across: { ...axis, grid: hidden, size: 28 },
    up: { ...axis, grid: { stroke: colour('--line'), width: 1 }, size: 44 },
  }
}
