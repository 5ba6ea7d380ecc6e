/** Opens and closes a host without listening, in the data directory given, and prints each module that was loaded. */
import { registerHooks } from 'node:module'

const loaded: string[] = []
registerHooks({
  load(url, context, next) {
    loaded.push(url)
    return next(url, context)
  },
})
const { openHost } = await import('../../control/index.ts')
const imported = loaded.length
const { fakeDriver, fakeWorld } = await import('../../control/drivers/fake/index.ts')
const dataDir = process.argv[2] as string
const host = await openHost({ dataDir, port: 0, driver: 'fake' }, { drivers: [fakeDriver({ world: fakeWorld() })] })
const opened = loaded.length
if (process.argv[3] === 'listen') await host.listen()
console.log(
  JSON.stringify({ imported: loaded.slice(0, imported), opened: loaded.slice(imported, opened), all: loaded }),
)
await host.close()
