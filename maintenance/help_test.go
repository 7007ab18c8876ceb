package maintenance_test

import "memento"

const workspace = memento.DefaultWorkspace
