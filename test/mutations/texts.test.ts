/** The tables of defences keep up with the sources: whoever moves a line finds out here, and not in the next soak. */
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { allDefences } from './all.ts'

const pathOf = (file: string): string => fileURLToPath(new URL(`../../${file}`, import.meta.url))

t.test('each defence stands in its file once, and its test is there', async t => {
  for (const { name, file, text, test } of allDefences) {
    t.equal(readFileSync(pathOf(file), 'utf8').split(text).length, 2, `${name}: ${file}`)
    t.ok(existsSync(pathOf(test)), `${name}: ${test}`)
  }
})

t.test('each has a name of its own', async t => {
  const names = allDefences.map(({ name }) => name)
  t.same(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  )
})
