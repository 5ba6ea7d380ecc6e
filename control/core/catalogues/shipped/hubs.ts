/** What the hubs list unless the operator says otherwise: what starts here without the internet. */
import type { Shipped } from '../catalogues.ts'

export const hubs = {
  'sandbox-hub': [
    {
      name: 'base',
      displayName: 'Base',
      description: 'Debian with Python, Node.js, git and common tools',
      image: 'base',
      memory: 4096,
      categories: ['general'],
    },
    {
      name: 'busybox',
      displayName: 'BusyBox',
      description: 'The smallest: a shell and the usual commands',
      image: 'busybox',
      memory: 256,
      categories: ['general'],
    },
  ],
  'mcp-hub': [
    {
      name: 'sandbox-tools',
      displayName: 'Sandbox tools',
      description: 'Files and processes of a sandbox; every sandbox serves this at its own address, below /mcp',
      image: 'base',
      transport: 'http-stream',
      categories: ['general'],
    },
  ],
} satisfies Partial<Shipped>
