"""What surrounds the methods: data sets, quality measures, comparison."""
