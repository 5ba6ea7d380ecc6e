/** The README's five numbers are an extract of docs/benchmarks.md, and both name parts of `make bench` that there are. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { families } from '../bench/options.ts'
import { checkout } from '../support/chroot.ts'

const read = (path: string) => readFileSync(join(checkout, path), 'utf8')
const page = read('docs/benchmarks.md')
const section = /^## Five numbers$[^]*?(?=^## )/m.exec(read('README.md'))?.[0] ?? ''

/** Numbers and ranges of numbers as they are written. */
const figuresOf = (text: string) => text.match(/\d[\d.,]*(?:–\d[\d.,]*)?(?<![.,])/g) ?? []

t.test('each figure of the README stands on the page', async t => {
  const known = new Set(figuresOf(page))
  const figures = section
    .split('\n')
    .filter(line => line.startsWith('| '))
    .flatMap(figuresOf)
  t.ok(figures.length > 15, 'the table is found')
  t.same(
    figures.filter(figure => !known.has(figure)),
    [],
  )
})

t.test('parts that are named can be run', async t => {
  const named = [...`${page}${section}`.matchAll(/make bench (?:\w+=\S+ )*ONLY=(\w+)/g)].map(
    ([, name]) => name as string,
  )
  t.ok(named.length > 4, 'they are found')
  t.same(
    named.filter(name => !families.some(family => family === name)),
    [],
  )
})
