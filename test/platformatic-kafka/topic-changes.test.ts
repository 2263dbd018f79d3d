import './on-platformatic.ts'
import '../kafka/topic-changes.test.ts'
