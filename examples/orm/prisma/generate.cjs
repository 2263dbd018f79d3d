// npm run generate, part of npm install
//
// What `npx prisma generate` does, by the same generator, without the command-line tool: that downloads an engine that is not
// needed here, and is large. Writes the client of schema.prisma to client/, which git ignores.
const path = require('node:path')
const { PrismaClientTsGenerator } = require('@prisma/client-generator-ts')
const { getGenerators, loadSchemaContext } = require('@prisma/internals')

async function generate() {
  const schemaPath = { cliProvidedPath: path.join(__dirname, 'schema.prisma') }
  const schemaContext = await loadSchemaContext({ schemaPath, printLoadMessage: false })
  const generator = new PrismaClientTsGenerator()
  const registry = { 'prisma-client': { type: 'in-process', generator } }
  for (const one of await getGenerators({ schemaContext, registry })) {
    await one.generate()
    one.stop()
  }
}

void generate()
