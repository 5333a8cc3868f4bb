"""All SQL of the schema `knowledge`: one module per thing that is kept."""
