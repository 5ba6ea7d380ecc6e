/** The examples of docs/ work, and print what the pages say. What differs is written by: node test/docs/write.ts page.md */
import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { failed, matches, stepsOf } from './page.ts'
import { pages, runPage, withoutMachines } from './pages.ts'
import { tourPage } from './tour.ts'
import { skipFile } from '../support/skip-file.ts'

const docs = new URL('../../docs/', import.meta.url)

t.test('every page with examples is run', async t => {
  const withExamples = globSync('**/*.md', { cwd: docs }).filter(name =>
    /^```sh$/m.test(readFileSync(new URL(name, docs), 'utf8')),
  )
  // readme.test.ts runs the tour.
  t.same([...pages.map(({ name }) => name), tourPage].toSorted(), withExamples.toSorted())
})

skipFile(withoutMachines())

// All of the pages, a command at a time.
t.setTimeout(240_000)

for (const page of pages)
  t.test(page.name, async t_ => {
    const text = readFileSync(new URL(page.name, docs), 'utf8')
    const lines = text.split('\n')
    const steps = stepsOf(text)
    const outputs = await runPage(t, page, text)
    for (const [index, { line, output, script }] of steps.entries()) {
      const actual = outputs[index] as string
      const documented = output && lines.slice(...output).join('\n')
      const says = `line ${line + 1}: ${script.split('\n')[0]}`
      if (documented === undefined) t_.notOk(failed(actual), `${says} works: ${actual.slice(0, 300)}`)
      else if (matches(documented, actual)) t_.pass(says)
      else t_.equal(actual, documented, says)
    }
  })
