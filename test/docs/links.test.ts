/** Links of the README, of CONTRIBUTING.md and of docs/ lead to files and headings that are there. */
import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { checkout } from '../support/chroot.ts'

const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...globSync('docs/**/*.md', { cwd: checkout }).toSorted(),
  ...globSync('test/**/README.md', { cwd: checkout }).toSorted(),
]

/** A page's text without its examples, where `](` may be anything. */
const prose = (page: string) => readFileSync(join(checkout, page), 'utf8').replace(/^ *(```+)[^]*?^ *\1$/gm, '')

/** The anchor that GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

const anchorsOf = (page: string): Set<string> =>
  new Set([...prose(page).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading as string)))

/** What is wrong with a link of `page`, or undefined. */
const brokenOf = (page: string, target: string): string | undefined => {
  if (/^https?:/.test(target)) return undefined
  const [path = '', anchor] = target.split('#')
  const file = path === '' ? page : join(dirname(page), path)
  if (!existsSync(join(checkout, file))) return `${target} is not there`
  return anchor === undefined || anchorsOf(file).has(anchor) ? undefined : `${target}: no such heading in ${file}`
}

for (const page of pages)
  t.test(`links of ${page}`, async t => {
    const targets = [...prose(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target as string)
    t.same(
      targets.map(target => brokenOf(page, target)).filter(broken => broken !== undefined),
      [],
    )
  })
