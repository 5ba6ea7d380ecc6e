import { createClient, isError, managementRoutes, sandboxRoutes } from '../../control/index.ts'

const { H: baseUrl = '', KEY: credential = '' } = process.env
const { sandboxes } = managementRoutes
const { files, processes } = sandboxRoutes

// A sandbox, by the management API.
const host = createClient({ api: 'management', baseUrl, credential })
const { metadata } = await host.ask(sandboxes.create, {
  body: { metadata: { name: 'client' }, spec: { runtime: { image: 'base', memory: 1024 } } },
})

// What is in it, by its own API. The first call waits until it is up.
const sandbox = createClient({ api: 'sandbox', baseUrl: metadata.url ?? '', credential })
await sandbox.ask(files.write, { params: { path: '/srv/count.py' }, body: 'for n in range(3): print(n)\n' })

// Events as they come; leaving the loop ends the call.
for await (const { type, data } of sandbox.events(processes.start, { body: { command: 'python3 /srv/count.py' } }))
  if (type === 'stdout') process.stdout.write(data ?? '')

// Bytes and lines: an answer that is no JSON, or is large.
const script = await sandbox.stream(files.read, { params: { path: '/srv/count.py' }, query: { download: true } })
for await (const line of script.lines()) console.log(line)

// A failure has the code and the words of the API, and says whether the same call may work later.
try {
  await sandbox.ask(files.read, { params: { path: '/srv/none' } }, { timeoutMs: 5_000, maxBytes: 1_000_000 })
} catch (error) {
  if (!isError(error, 'path_not_found')) throw error
  console.log(error.message, error.retry)
}

// A terminal speaks WebSocket: any client of that, with the same credential.
console.log(sandbox.url(sandboxRoutes.terminal.socket, { query: { cols: 120 } }).pathname)

await host.ask(sandboxes.remove, { params: { sandboxName: 'client' } })
await Promise.all([sandbox.close(), host.close()])
