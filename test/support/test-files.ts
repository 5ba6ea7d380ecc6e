import { globSync } from 'node:fs'
import { relative, resolve } from 'node:path'

/** Folders whose files take longest come first, so that none of them runs on alone at the end. */
const longest = ['test/images/package/', 'test/e2e/', 'test/docs/examples', 'test/control/drivers/']
const rank = (file: string): number => {
  const place = longest.findIndex(folder => file.startsWith(folder))
  return place < 0 ? longest.length : place
}

/**
 * Paths from `root` of the test files that the arguments of test/run.ts choose: all of them, those with a part in their
 * path (`--only part`), those that take too long for every run (`--soak`, or `--soak --only part`), or those that are named, from `cwd`.
 */
export const testFiles = (root: string, cwd: string, [flag, ...rest]: readonly string[]): string[] => {
  const found = (pattern: string) => globSync(pattern, { cwd: root }).sort()
  const having = (part: readonly string[]) => (file: string) => file.includes(part.join(' '))
  if (flag === '--soak') return found('test/**/*.soak.ts').filter(having(rest.slice(1)))
  const all = found('test/**/*.test.ts').sort((a, b) => rank(a) - rank(b))
  if (flag === undefined) return all
  if (flag === '--only') return all.filter(having(rest))
  return [flag, ...rest].map(file => relative(root, resolve(cwd, file)))
}
