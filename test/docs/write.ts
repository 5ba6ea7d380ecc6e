/**
 * Writes the pages of docs/ from what is: the endpoints from their declarations, the outputs of the examples from a run.
 *
 *     node test/docs/write.ts [page.md …]
 *
 * An output that still says the same is left as it is written. Without real machines only the endpoints are written.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { declaredRoutes, familiesOf, tableOf, withTable } from './endpoints.ts'
import { withRoutes } from './management.ts'
import { matches, shown, stepsOf } from './page.ts'
import { pages, runPage, withoutMachines } from './pages.ts'
import { withWalls } from './walls.ts'

const pathOf = (name: string) => new URL(`../../docs/${name}`, import.meta.url)
const wanted = process.argv.slice(2)
const chosen = (name: string) => wanted.length === 0 || wanted.includes(name)
const undo: (() => unknown)[] = []

const teardowns = { teardown: (one: () => unknown) => undo.unshift(one) }

/** The page with what its examples printed; from the end, so that lines keep their numbers. */
const withOutputs = (text: string, outputs: readonly string[]): string => {
  const lines = text.split('\n')
  const steps = stepsOf(text)
  for (const [index, { output }] of [...steps.entries()].toReversed()) {
    if (!output) continue
    const [first, behind] = output
    const actual = outputs[index] as string
    if (!matches(lines.slice(first, behind).join('\n'), actual)) lines.splice(first, behind - first, ...shown(actual))
  }
  return lines.join('\n')
}

try {
  const routes = await declaredRoutes()
  for (const [name, families] of Object.entries(familiesOf).filter(([name]) => chosen(name))) {
    const path = pathOf(name)
    writeFileSync(path, withTable(readFileSync(path, 'utf8'), tableOf(routes, families)))
  }
  if (chosen('walls.md')) writeFileSync(pathOf('walls.md'), withWalls(readFileSync(pathOf('walls.md'), 'utf8')))
  if (chosen('management.md')) {
    const path = pathOf('management.md')
    writeFileSync(path, withRoutes(readFileSync(path, 'utf8')))
  }
  const why = withoutMachines()
  if (why) process.stderr.write(`the examples are not run: ${why}\n`)
  else
    for (const page of pages.filter(({ name }) => chosen(name))) {
      const text = readFileSync(pathOf(page.name), 'utf8')
      const outputs = await runPage(teardowns, page, text)
      writeFileSync(pathOf(page.name), withOutputs(text, outputs))
    }
} finally {
  for (const one of undo) await one()
}
